//! Whole numbers as bytes: small ones take one.

use thiserror::Error;

/// What cannot be read as what it should be.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("the counts are cut short or damaged")]
pub struct Damaged;

/// Bytes that grow.
#[derive(Clone, Debug, Default)]
pub struct Writer(Vec<u8>);

impl Writer {
    /// Some bytes as they are, and room for so many more.
    pub fn after(bytes: &[u8], room: usize) -> Self {
        let mut all = Vec::with_capacity(bytes.len() + room);
        all.extend_from_slice(bytes);
        Self(all)
    }

    /// A number, seven bits a byte, the lowest first.
    pub fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    /// A number that may be negative.
    pub fn signed(&mut self, number: i64) {
        self.number((number << 1 ^ number >> 63) as u64);
    }

    /// Bytes, after how many they are.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    /// What was written.
    pub fn finish(self) -> Vec<u8> {
        self.0
    }
}

/// Bytes that are read from their beginning.
#[derive(Clone, Debug)]
pub struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// From these bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// A number.
    pub fn number(&mut self) -> Result<u64, Damaged> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.0.split_first().ok_or(Damaged)?;
            self.0 = rest;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                return Err(Damaged);
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(Damaged)
    }

    /// A number that may be negative.
    pub fn signed(&mut self) -> Result<i64, Damaged> {
        let number = self.number()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    /// How many things follow, each of which takes a byte at least.
    pub fn length(&mut self) -> Result<usize, Damaged> {
        let length = usize::try_from(self.number()?).map_err(|_| Damaged)?;
        if length > self.0.len() { Err(Damaged) } else { Ok(length) }
    }

    /// Bytes, after how many they are.
    pub fn bytes(&mut self) -> Result<&'a [u8], Damaged> {
        let length = self.length()?;
        let (bytes, rest) = self.0.split_at(length);
        self.0 = rest;
        Ok(bytes)
    }

    /// That nothing is left.
    pub fn end(&self) -> Result<(), Damaged> {
        if self.0.is_empty() { Ok(()) } else { Err(Damaged) }
    }
}
