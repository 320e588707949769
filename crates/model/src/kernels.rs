//! Where the kernels of a GPU are kept once they were compiled.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use consequence_engine::cuda::{self, KernelStore};
use consequence_store::{create_directory, write_atomically};

/// Has this process keep the kernels that it compiles for a GPU in the user's folder for such things, which
/// variables of the environment name: `XDG_CACHE_HOME`, or `HOME`. Where neither is set, they are compiled each
/// time. Nothing is written before there is a GPU.
///
/// ```
/// consequence_model::keep_kernels(|variable| std::env::var_os(variable));
/// ```
pub fn keep_kernels(variable: impl Fn(&str) -> Option<OsString>) {
    if let Some(folder) = folder(variable) {
        cuda::keep_kernels(Folder(folder));
    }
}

fn folder(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let caches = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(caches.join("consequence").join("kernels"))
}

/// A folder with a file for each source. A file that cannot be read or written costs the time of the
/// compiler, and nothing else.
struct Folder(PathBuf);

impl KernelStore for Folder {
    fn find(&self, name: &str) -> Option<Vec<u8>> {
        fs::read(self.0.join(name)).ok()
    }

    fn keep(&self, name: &str, bytes: &[u8]) {
        let _ = create_directory(&self.0)
            .and_then(|()| write_atomically(self.0.join(name), |file| file.write_all(bytes)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_that_of_the_user() {
        let of = |pairs: &[(&str, &str)]| {
            folder(|name| {
                let found = pairs.iter().find(|(variable, _)| *variable == name);
                found.map(|(_, value)| value.into())
            })
        };
        let path = |text: &str| Some(PathBuf::from(text));
        assert_eq!(of(&[("HOME", "/home/a")]), path("/home/a/.cache/consequence/kernels"));
        let both = [("HOME", "/home/a"), ("XDG_CACHE_HOME", "/var/c")];
        assert_eq!(of(&both), path("/var/c/consequence/kernels"));
        let relative = [("HOME", "/home/a"), ("XDG_CACHE_HOME", "c")];
        assert_eq!(of(&relative), path("/home/a/.cache/consequence/kernels"));
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn what_is_kept_is_found_and_a_folder_that_cannot_be_is_no_matter() {
        let home = tempfile::tempdir().unwrap();
        let kept = Folder(home.path().join("a").join("b"));
        assert_eq!(kept.find("one"), None);
        kept.keep("one", b"text");
        assert_eq!(kept.find("one").as_deref(), Some(&b"text"[..]));
        fs::write(home.path().join("file"), "").unwrap();
        let nowhere = Folder(home.path().join("file").join("b"));
        nowhere.keep("one", b"text");
        assert_eq!(nowhere.find("one"), None);
    }
}
