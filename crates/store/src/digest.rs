//! What bytes are, in a few letters.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest, Sha256};

/// The SHA-256 digest of some bytes, as 64 hexadecimal digits.
///
/// It tells damage: who changes a file on purpose can change its digest too.
///
/// ```
/// let digest = consequence_store::digest(b"abc");
/// assert!(digest.starts_with("ba7816bf") && digest.len() == 64);
/// ```
pub fn digest(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

/// The digest of a file, read in parts.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("a.txt");
/// std::fs::write(&path, "abc")?;
/// assert_eq!(consequence_store::digest_file(&path)?, consequence_store::digest(b"abc"));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn digest_file(path: impl AsRef<Path>) -> io::Result<String> {
    let (mut file, mut hasher) = (File::open(path)?, Sha256::new());
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(hexadecimal(&hasher.finalize())),
            Ok(count) => hasher.update(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
