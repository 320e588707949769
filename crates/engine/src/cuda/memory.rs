//! Memory of a GPU, and parts of it.

use std::marker::PhantomData;
use std::ops::Range;

use cudarc::driver::{CudaSlice, DevicePtr, DeviceRepr, ValidAsZeroBits};

use super::gpu::{Gpu, GpuError};

/// Memory of a GPU, which grows when it is asked for more. At first it is as large as it is asked for: much of it keeps
/// its length. When it grows it takes a quarter more, if there is as much.
#[derive(Debug)]
pub struct Memory<T = f32> {
    slice: Option<CudaSlice<T>>,
    pointer: u64,
    len: usize,
}

impl<T> Default for Memory<T> {
    fn default() -> Self {
        Self { slice: None, pointer: 0, len: 0 }
    }
}

impl<T: DeviceRepr + ValidAsZeroBits> Memory<T> {
    /// Makes it of a length; what it holds does not matter.
    pub fn fit(&mut self, gpu: &Gpu, len: usize) -> Result<(), GpuError> {
        let room = self.room();
        if len > room {
            // What is there is given back first.
            self.slice = None;
            (self.pointer, self.len) = (0, 0);
            let roomy = (room > 0).then(|| gpu.stream.alloc_zeros(len + len / 4).ok()).flatten();
            let slice = match roomy {
                Some(slice) => slice,
                None => gpu.stream.alloc_zeros(len)?,
            };
            self.pointer = slice.device_ptr(&gpu.stream).0;
            self.slice = Some(slice);
        }
        self.len = len;
        Ok(())
    }

    /// Fills it with numbers.
    pub fn write(&mut self, gpu: &Gpu, values: &[T]) -> Result<(), GpuError> {
        self.fit(gpu, values.len())?;
        if let Some(slice) = self.slice.as_mut().filter(|_| !values.is_empty()) {
            gpu.stream.memcpy_htod(values, slice)?;
        }
        Ok(())
    }

    /// Reads all of it, once all that was queued is done.
    pub fn read(&self, gpu: &Gpu, values: &mut [T]) -> Result<(), GpuError> {
        assert_eq!(values.len(), self.len, "as much is read as there is");
        if let Some(slice) = self.slice.as_ref().filter(|_| self.len > 0) {
            gpu.stream.memcpy_dtoh(&slice.slice(..self.len), values)?;
        }
        gpu.wait()
    }

    /// Writes some of it, from an index on. The values are read before this returns.
    ///
    /// # Panics
    ///
    /// If it is not so long.
    pub fn write_part(&mut self, gpu: &Gpu, from: usize, values: &[T]) -> Result<(), GpuError> {
        assert!(from + values.len() <= self.len, "what is written lies within");
        if let Some(slice) = self.slice.as_mut().filter(|_| !values.is_empty()) {
            let mut part = slice.slice_mut(from..from + values.len());
            gpu.stream.memcpy_htod(values, &mut part)?;
        }
        Ok(())
    }

    /// Reads some of it, from an index on, once all that was queued is done.
    ///
    /// # Panics
    ///
    /// If it is not so long.
    pub fn read_part(&self, gpu: &Gpu, from: usize, values: &mut [T]) -> Result<(), GpuError> {
        assert!(from + values.len() <= self.len, "what is read lies within");
        if let Some(slice) = self.slice.as_ref().filter(|_| !values.is_empty()) {
            gpu.stream.memcpy_dtoh(&slice.slice(from..from + values.len()), values)?;
        }
        gpu.wait()
    }

    /// Makes it as long as another and a copy of it.
    pub fn copy(&mut self, gpu: &Gpu, from: &Self) -> Result<(), GpuError> {
        self.fit(gpu, from.len)?;
        if let (Some(to), Some(from)) = (&mut self.slice, &from.slice) {
            gpu.stream.memcpy_dtod(&from.slice(..self.len), &mut to.slice_mut(..self.len))?;
        }
        Ok(())
    }

    /// Fills it with zeros.
    pub fn clear(&mut self, gpu: &Gpu) -> Result<(), GpuError> {
        if let Some(slice) = self.slice.as_mut().filter(|_| self.len > 0) {
            gpu.stream.memset_zeros(&mut slice.slice_mut(..self.len))?;
        }
        Ok(())
    }
}

impl<T> Memory<T> {
    /// What it was made for: it need not grow for as much.
    pub fn room(&self) -> usize {
        self.slice.as_ref().map_or(0, CudaSlice::len)
    }

    /// Its length.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All of it.
    pub fn all(&self) -> Part<'_, T> {
        Part { pointer: self.pointer, len: self.len, memory: PhantomData }
    }

    /// All of it, to be changed.
    pub fn all_mut(&mut self) -> PartMut<'_, T> {
        PartMut { pointer: self.pointer, len: self.len, memory: PhantomData }
    }

    /// A part of it.
    pub fn part(&self, range: Range<usize>) -> Part<'_, T> {
        self.all().part(range)
    }

    /// A part of it, to be changed.
    pub fn part_mut(&mut self, range: Range<usize>) -> PartMut<'_, T> {
        let Part { pointer, len, .. } = self.all().part(range);
        PartMut { pointer, len, memory: PhantomData }
    }
}

/// A part of a GPU's memory.
#[derive(Debug)]
pub struct Part<'a, T = f32> {
    pub(super) pointer: u64,
    pub(super) len: usize,
    memory: PhantomData<&'a T>,
}

impl<T> Clone for Part<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Part<'_, T> {}

impl<T> Part<'_, T> {
    /// A part of it.
    ///
    /// # Panics
    ///
    /// If it reaches beyond.
    #[must_use]
    pub fn part(self, range: Range<usize>) -> Self {
        assert!(range.start <= range.end && range.end <= self.len, "a part lies within");
        let pointer = self.pointer + (range.start * size_of::<T>()) as u64;
        Self { pointer, len: range.len(), memory: PhantomData }
    }

    pub(super) fn none() -> Self {
        Self { pointer: 0, len: 0, memory: PhantomData }
    }
}

/// A part of a GPU's memory, to be changed.
#[derive(Debug)]
pub struct PartMut<'a, T = f32> {
    pub(super) pointer: u64,
    pub(super) len: usize,
    memory: PhantomData<&'a mut T>,
}
