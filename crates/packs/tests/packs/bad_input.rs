//! Files that are not what they should be.

use std::io::{Read, Write};

use consequence_packs::{CodeList, ExpertTable, Over, PackError, PackLimits};
use flate2::Compression;
use flate2::write::GzEncoder;

const HEADER: &str = "MCE_Version\tICD_Version\tMCE_Edit_Type\tICD_Code_Type\tICD_Code\tICD_Desc\n";

fn refused(text: impl AsRef<[u8]>) -> String {
    ExpertTable::read_mce("edits.txt", text.as_ref(), &PackLimits::default())
        .unwrap_err()
        .to_string()
}

fn compressed(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn errors_say_where_and_what_to_do() {
    let row = |cells: &str| format!("{HEADER}32\t9\tMale_Only\tD\t185\tProstate\n{cells}\n");
    assert_eq!(
        refused(row("32\t9\tMale_Only\tD")),
        "edits.txt:3: 4 cells where the header has 6; is the file cut short?"
    );
    assert_eq!(
        refused(row("32\t11\tMale_Only\tD\t1\tX")),
        "edits.txt:3: `11` in column ICD_Version; expected `9` or `10`"
    );
    assert_eq!(
        refused(row("32\t9\tMale_Only\tQ\t1\tX")),
        "edits.txt:3: `Q` in column ICD_Code_Type; expected `D` or `P`"
    );
    assert_eq!(
        refused(row("32\t9\tMale_Only\tD\t\tX")),
        "edits.txt:3: `` in column ICD_Code; expected a code"
    );
    assert_eq!(refused(HEADER), "edits.txt: the table has no rows; is the file cut short?");
    let other = refused("ICD_Code,ICD_Version\n1,9\n");
    assert!(
        other.starts_with(
            "edits.txt: no column `MCE_Version`, `MCE_Edit_Type`, `ICD_Code_Type`, `ICD_Desc`; \
         found `ICD_Code`, `ICD_Version`; expected a list of simple code edits"
        ),
        "{other}"
    );
    assert!(refused("").contains("found nothing"));
    let mut text = row("").into_bytes();
    text.push(0xff);
    assert!(refused(text).starts_with("edits.txt:4: the file is not UTF-8 text"));
}

#[test]
fn compressed_files_that_stop_short_or_never_stop() {
    let text = format!("{HEADER}{}", "32\t9\tMale_Only\tD\t185\tProstate\n".repeat(2000));
    let whole = compressed(text.as_bytes());
    let table =
        ExpertTable::read_mce("edits.gz", whole.as_slice(), &PackLimits::default()).unwrap();
    assert_eq!(table.entries().len(), 2000);
    for length in [2, 11, whole.len() / 2, whole.len() - 1] {
        let fault = ExpertTable::read_mce("edits.gz", &whole[..length], &PackLimits::default())
            .unwrap_err();
        assert!(matches!(fault, PackError::Gzip { .. }), "{length}: {fault}");
        assert!(fault.to_string().starts_with("edits.gz: the gzip data end too early"), "{fault}");
    }
    let bomb = compressed(&vec![b'a'; 20 << 20]);
    let small = PackLimits { text_bytes: 1 << 20, ..PackLimits::default() };
    let fault = ExpertTable::read_mce("bomb.gz", bomb.as_slice(), &small).unwrap_err().to_string();
    assert_eq!(fault, "bomb.gz: more than 1048576 bytes of text; is this the right file?");
}

#[test]
fn a_file_that_cannot_be_read() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("the disk is gone"))
        }
    }
    let fault = ExpertTable::read_mce("edits.txt", Broken, &PackLimits::default()).unwrap_err();
    assert_eq!(fault.to_string(), "edits.txt: the disk is gone");
}

#[test]
fn no_reader_takes_the_table_of_another() {
    let tables = [
        format!("{HEADER}32\t9\tMale_Only\tD\t185\tProstate\n"),
        "conceptId,conceptName,plausibleGender,plausibleGenderUseDescendants\n1,X,Male,\n".into(),
        "ICD9,ICD9 String,PheCode,Phenotype,sex\n185,X,185,Y,Male\n".into(),
        "'ICD-9-CM CODE','ICD-9-CM CODE DESCRIPTION','CATEGORY DESCRIPTION'\n'1','X','1'\n".into(),
        "one line of text".into(),
        "\"an open quote\n1,2,3\n".into(),
        "\n\n\n".into(),
    ];
    let limits = PackLimits::default();
    for (table, text) in tables.iter().enumerate() {
        let bytes = text.as_bytes();
        let taken = [
            ExpertTable::read_mce("t", bytes, &limits).is_ok(),
            ExpertTable::read_dqd("t", bytes, &limits).is_ok(),
            ExpertTable::read_phecodes("t", bytes, Over::Icd, &limits).is_ok(),
            ExpertTable::read_cci("t", bytes, &limits).is_ok(),
        ];
        let expected: Vec<bool> = (0..4).map(|reader| reader == table).collect();
        assert_eq!(taken.as_slice(), expected, "{text}");
        let listed = CodeList::read("t", bytes, &limits).is_ok();
        assert_eq!(listed, table == 2 || table == 3, "{text}");
    }
    let sexes = "ICD9,ICD9 String,PheCode,Phenotype,sex\n185,X,185,Y,Mann\n";
    let fault = ExpertTable::read_phecodes("t", sexes.as_bytes(), Over::Icd, &limits).unwrap_err();
    assert!(fault.to_string().starts_with("t:2: `Mann` in column sex; expected"));
}
