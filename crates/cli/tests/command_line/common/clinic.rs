//! A small clinic to train on.

use super::Folder;

/// What `train` needs to know of the clinic's records that obey its rules.
pub const TRAIN: &str = "train clinic/repaired.jsonl --rules clinic/clinic.rules --vocabulary \
                         clinic/codes.json --size tiny --out";

impl Folder {
    /// A folder with so many records of the clinic, in `clinic`.
    pub fn with_records(records: usize) -> Self {
        let folder = Self::new();
        folder.run(&format!("demo --clinic --records {records} --out clinic")).exits(0);
        folder
    }

    /// A folder with the clinic and a `model` of it.
    pub fn with_model() -> Self {
        let folder = Self::with_records(600);
        folder.run(&format!("{TRAIN} model --epochs 2")).exits(0);
        folder
    }

    /// Whether two files, or all files of two folders, hold the same.
    #[track_caller]
    pub fn same(&self, one: &str, other: &str) {
        let ran = std::process::Command::new("diff")
            .args(["-r", one, other])
            .current_dir(self.path(""))
            .output()
            .expect("diff");
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
    }
}
