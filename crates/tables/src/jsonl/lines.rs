//! Lines of bounded length.

use std::io::{self, BufRead};

/// What is left of a stream, line by line.
pub(super) struct Lines<R> {
    reader: R,
    limit: usize,
    line: Vec<u8>,
    number: u64,
}

/// How reading a line came out.
pub(super) enum Next {
    /// A line; see [`Lines::bytes`].
    Line,
    /// A line longer than the limit. What was read of it is dropped.
    TooLong,
    /// There are no more lines.
    Finished,
}

impl<R: BufRead> Lines<R> {
    pub fn new(reader: R, limit: usize) -> Self {
        Self { reader, limit, line: Vec::new(), number: 0 }
    }

    /// The number of the current line, counted from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The current line, without its end and without a byte order mark.
    pub fn bytes(&self) -> &[u8] {
        match self.line.strip_prefix(b"\xEF\xBB\xBF") {
            Some(rest) if self.number == 1 => rest,
            _ => &self.line,
        }
    }

    /// Reads the next line, never holding more than the limit and one buffer of it.
    pub fn advance(&mut self) -> io::Result<Next> {
        self.line.clear();
        self.number += 1;
        let mut started = false;
        loop {
            let available = match self.reader.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                filled => filled?,
            };
            if available.is_empty() {
                return Ok(if started { Next::Line } else { Next::Finished });
            }
            started = true;
            let end = available.iter().position(|&byte| byte == b'\n');
            let part = &available[..end.unwrap_or(available.len())];
            if part.len() > self.limit - self.line.len() {
                self.line = Vec::new();
                return Ok(Next::TooLong);
            }
            self.line.extend_from_slice(part);
            let used = part.len() + usize::from(end.is_some());
            self.reader.consume(used);
            if end.is_some() {
                return Ok(Next::Line);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;

    fn read(text: &str, limit: usize, buffer: usize) -> Vec<String> {
        let mut lines = Lines::new(BufReader::with_capacity(buffer, text.as_bytes()), limit);
        let mut found = Vec::new();
        loop {
            match lines.advance().unwrap() {
                Next::Line => found.push(String::from_utf8_lossy(lines.bytes()).into_owned()),
                Next::TooLong => found.push("too long".into()),
                Next::Finished => return found,
            }
            if found.last().is_some_and(|last| last == "too long") {
                return found;
            }
        }
    }

    #[test]
    fn lines_are_the_same_whatever_the_buffer() {
        for buffer in 1..12 {
            assert_eq!(read("ab\n\ncde\nf", 3, buffer), ["ab", "", "cde", "f"]);
            assert_eq!(read("ab\n", 3, buffer), ["ab"]);
            assert_eq!(read("", 3, buffer), [""; 0]);
            assert_eq!(read("ab\nabcd\n", 3, buffer), ["ab", "too long"]);
            assert_eq!(read("\u{feff}ab\n\u{feff}", 5, buffer), ["ab", "\u{feff}"]);
        }
    }

    #[test]
    fn an_endless_line_is_given_up() {
        let mut lines = Lines::new(BufReader::new(io::repeat(b'x')), 1 << 20);
        assert!(matches!(lines.advance(), Ok(Next::TooLong)));
    }
}
