//! Files as text, compressed or not.

use std::io::{ErrorKind, Read};

use flate2::read::MultiGzDecoder;

use crate::error::PackError;

/// How much of a file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackLimits {
    /// Bytes of text, after unpacking. Default 64 MiB.
    pub text_bytes: usize,
}

impl Default for PackLimits {
    fn default() -> Self {
        Self { text_bytes: 64 << 20 }
    }
}

/// Reads a whole file, unpacking it if it is compressed.
pub(crate) fn read_text(
    file: &str,
    mut input: impl Read,
    limits: &PackLimits,
) -> Result<String, PackError> {
    let mut start = [0; 2];
    let mut length = 0;
    while length < start.len() {
        match input.read(&mut start[length..]) {
            Ok(0) => break,
            Ok(more) => length += more,
            Err(cause) if cause.kind() == ErrorKind::Interrupted => {}
            Err(cause) => return Err(PackError::Read { file: file.to_owned(), cause }),
        }
    }
    let whole = start[..length].chain(input);
    let compressed = start[..length] == [0x1f, 0x8b];
    let mut bytes = Vec::new();
    let most = limits.text_bytes as u64;
    let outcome = if compressed {
        MultiGzDecoder::new(whole).take(most + 1).read_to_end(&mut bytes)
    } else {
        whole.take(most + 1).read_to_end(&mut bytes)
    };
    outcome.map_err(|cause| {
        if compressed {
            PackError::Gzip { file: file.to_owned(), cause }
        } else {
            PackError::Read { file: file.to_owned(), cause }
        }
    })?;
    if bytes.len() > limits.text_bytes {
        return Err(PackError::TooLarge { file: file.to_owned(), most: limits.text_bytes });
    }
    match String::from_utf8(bytes) {
        Ok(mut text) => {
            if text.starts_with('\u{feff}') {
                text.drain(..'\u{feff}'.len_utf8());
            }
            Ok(text)
        }
        Err(fault) => {
            let valid = &fault.as_bytes()[..fault.utf8_error().valid_up_to()];
            let line = valid.iter().filter(|&&byte| byte == b'\n').count() + 1;
            Err(PackError::Encoding { file: file.to_owned(), line })
        }
    }
}
