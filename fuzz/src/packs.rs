//! Expert tables: whatever a reader takes, its rules can be read.

use std::collections::BTreeSet;
use std::sync::Arc;

use consequence_packs::{
    Ancestors, CodeList, ExpertTable, Over, PackError, PackLimits, PackOptions, TableKind,
};
use consequence_record::{Kind, Vocabulary};
use consequence_rules::RuleSet;

use crate::{Target, says_something};

/// Tables that experts publish, and the list of ICD-10-CM as XML.
pub const EXPERT_TABLES: Target =
    Target { name: "expert-tables", read: tables, seeds: published, words: &WORDS };

const WORDS: [&str; 24] = [
    "<",
    ">",
    "</",
    "/>",
    "<!--",
    "-->",
    "<![CDATA[",
    "]]>",
    "&#x41;",
    "&amp;",
    "<diag>",
    "</diag>",
    "<note>",
    "</note>",
    "(E08.-)",
    "(O00-O9A)",
    "E10",
    "\t",
    ",",
    "\"",
    "'",
    "\n",
    "185",
    "9",
];

const LIST: &str = "<?xml version='1.0'?>\n<ICD10CM.tabular><version>2026</version><chapter>\
    <name>15</name><desc>Pregnancy (E00-O9A)</desc><notes><note>for use only on maternal records\
    </note></notes><section id='E08-E13'><diag><name>E10</name><desc>One &amp; only</desc><excludes1>\
    <note>two (E11.-)</note></excludes1><codeFirst><note>three (E08-E09, I10)</note></codeFirst><diag>\
    <name>E10.9</name><desc>x</desc><sevenChrDef><extension char='A'>a</extension></sevenChrDef></diag>\
    </diag></section></chapter></ICD10CM.tabular>";

fn published() -> Vec<Vec<u8>> {
    let texts = [
        LIST,
        "MCE_Version\tICD_Version\tMCE_Edit_Type\tICD_Code_Type\tICD_Code\tICD_Desc\n\
         32\t9\tMale_Only\tD\t185\tProstate\n32\t9\tNewborn_Only\tD\t7706\tNewborn\n",
        "conceptId,conceptName,plausibleGender,plausibleGenderUseDescendants\n26662,X,Male,\n7,Y,,Female\n",
        "ICD9,ICD9 String,PheCode,Phenotype,sex\n185,Prostate,185,Cancer,Male\n",
        "'ICD-9-CM CODE','ICD-9-CM CODE DESCRIPTION','CATEGORY DESCRIPTION'\n'4019','X','1'\n",
        "dgns_cd,longdesc\n4010,Hypertension\n",
        "ancestor_concept_id\tdescendant_concept_id\n7\t26662\n",
    ];
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

fn tables(bytes: &[u8]) {
    let limits = PackLimits { text_bytes: 1 << 20, codes: 1_000 };
    let statics = ["SEX//F", "SEX//M", "AGE//0-1", "AGE//60+"].map(|name| (name, Kind::Static));
    let codes = ["ICD10CM//E10.9", "ICD10CM//E119", "ICD10CM//E089", "ICD9CM//185", "OMOP//26662"]
        .map(|name| (name, Kind::Encounter));
    let known = Arc::new(Vocabulary::new(statics.into_iter().chain(codes)).expect("codes"));
    let _ = TableKind::of_file(bytes);
    let readers: [Result<ExpertTable, PackError>; 6] = [
        ExpertTable::read_mce("t", bytes, &limits),
        ExpertTable::read_dqd("t", bytes, &limits),
        ExpertTable::read_phecodes("t", bytes, Over::Icd, &limits),
        ExpertTable::read_phecodes("t", bytes, Over::Phecodes, &limits),
        ExpertTable::read_cci("t", bytes, &limits),
        ExpertTable::read_icd10("t", bytes, &limits),
    ];
    for table in readers {
        let table = match table {
            Ok(table) => table,
            Err(error) => {
                says_something(&error);
                continue;
            }
        };
        for vocabulary in [None, Some(&*known)] {
            let options =
                PackOptions { vocabulary, code_first: Some(0.9), ..PackOptions::default() };
            match table.pack(&options) {
                Ok(pack) => {
                    let vocabulary = vocabulary.map(|_| Arc::clone(&known));
                    let rules =
                        RuleSet::parse(&pack.text(), vocabulary).expect("rules that are read");
                    assert_eq!(rules.len(), pack.rules.len());
                }
                Err(error) => says_something(&error),
            }
        }
    }
    for error in [
        CodeList::read("t", bytes, &limits).err(),
        Ancestors::read("t", bytes, &BTreeSet::from([7]), None, &limits).err(),
    ] {
        error.iter().for_each(|error| says_something(error));
    }
}
