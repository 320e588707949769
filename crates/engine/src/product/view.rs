//! Matrices in slices.

use std::marker::PhantomData;
use std::ops::Range;

/// A matrix to be read, or the transpose of one, or a part of either.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    data: &'a [f32],
    rows: usize,
    columns: usize,
    row_stride: usize,
    column_stride: usize,
}

impl<'a> View<'a> {
    /// A row-major matrix that fills the slice.
    ///
    /// # Panics
    ///
    /// If the slice is of another size.
    pub fn new(data: &'a [f32], rows: usize, columns: usize) -> Self {
        assert_eq!(Some(data.len()), rows.checked_mul(columns), "a matrix fills its slice");
        Self { data, rows, columns, row_stride: columns, column_stride: 1 }
    }

    /// Rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The same with rows and columns exchanged.
    pub fn transposed(self) -> Self {
        Self {
            rows: self.columns,
            columns: self.rows,
            row_stride: self.column_stride,
            column_stride: self.row_stride,
            ..self
        }
    }

    /// Some of its rows and columns.
    ///
    /// # Panics
    ///
    /// If it does not have them.
    pub fn part(self, rows: Range<usize>, columns: Range<usize>) -> Self {
        let inside = |part: &Range<usize>, all: usize| part.start <= part.end && part.end <= all;
        let lies_inside = inside(&rows, self.rows) && inside(&columns, self.columns);
        assert!(lies_inside, "a part lies inside");
        let (height, width) = (rows.len(), columns.len());
        let start = rows.start * self.row_stride + columns.start * self.column_stride;
        let data = if height == 0 || width == 0 { &[] } else { &self.data[start..] };
        Self { data, rows: height, columns: width, ..self }
    }

    /// The element at a row and a column.
    #[inline(always)]
    pub(super) fn at(&self, row: usize, column: usize) -> f32 {
        self.data[row * self.row_stride + column * self.column_stride]
    }

    /// Some consecutive elements of a row, if they lie side by side.
    #[inline(always)]
    pub(super) fn run(&self, row: usize, columns: Range<usize>) -> Option<&'a [f32]> {
        let start = row * self.row_stride;
        (self.column_stride == 1).then(|| &self.data[start + columns.start..start + columns.end])
    }

    /// Whether the elements of a column lie side by side.
    #[inline(always)]
    pub(super) fn is_turned(&self) -> bool {
        self.row_stride == 1 && self.column_stride != 1
    }
}

/// A row-major matrix to be written, or some of its rows and columns.
#[derive(Debug)]
pub struct ViewMut<'a> {
    /// The first element. Rows are `stride` apart, and all of them lie in a slice that is borrowed
    /// for `'a`; no other view has any element of this one.
    data: *mut f32,
    rows: usize,
    columns: usize,
    stride: usize,
    slice: PhantomData<&'a mut [f32]>,
}

// SAFETY: a view is the only one of its elements, as a mutable slice is.
#[allow(unsafe_code)]
unsafe impl Send for ViewMut<'_> {}

impl<'a> ViewMut<'a> {
    /// A matrix that fills the slice.
    ///
    /// # Panics
    ///
    /// If the slice is of another size.
    pub fn new(data: &'a mut [f32], rows: usize, columns: usize) -> Self {
        assert_eq!(Some(data.len()), rows.checked_mul(columns), "a matrix fills its slice");
        Self { data: data.as_mut_ptr(), rows, columns, stride: columns, slice: PhantomData }
    }

    /// Rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Some of its rows and columns.
    ///
    /// # Panics
    ///
    /// If it does not have them.
    pub fn part(self, rows: Range<usize>, columns: Range<usize>) -> Self {
        let inside = |part: &Range<usize>, all: usize| part.start <= part.end && part.end <= all;
        let lies_inside = inside(&rows, self.rows) && inside(&columns, self.columns);
        assert!(lies_inside, "a part lies inside");
        let start = rows.start * self.stride + columns.start;
        Self {
            // `wrapping_add`, since an empty part may begin at the very end.
            data: self.data.wrapping_add(start),
            rows: rows.len(),
            columns: columns.len(),
            ..self
        }
    }

    /// Some of its rows and columns, for a while.
    pub(super) fn part_mut(&mut self, rows: Range<usize>, columns: Range<usize>) -> ViewMut<'_> {
        ViewMut { slice: PhantomData, ..*self }.part(rows, columns)
    }

    /// Cuts it into strips of so many columns.
    pub(crate) fn column_parts(self, strip: usize) -> Vec<Self> {
        let starts = (0..self.columns).step_by(strip);
        let part = |start: usize| Self {
            data: self.data.wrapping_add(start),
            columns: strip.min(self.columns - start),
            ..self
        };
        starts.map(part).collect()
    }

    /// Cuts it into strips of so many rows.
    pub(super) fn row_parts(self, strip: usize) -> Vec<Self> {
        let starts = (0..self.rows).step_by(strip);
        let part = |start: usize| Self {
            data: self.data.wrapping_add(start * self.stride),
            rows: strip.min(self.rows - start),
            ..self
        };
        starts.map(part).collect()
    }

    /// The first element, and how far apart rows are.
    pub(super) fn raw(&mut self) -> (*mut f32, usize) {
        (self.data, self.stride)
    }

    /// A row.
    pub(crate) fn row(&mut self, row: usize) -> &mut [f32] {
        assert!(row < self.rows, "a row lies inside");
        // SAFETY: the row lies in the borrowed slice, and this view alone may touch it.
        #[allow(unsafe_code)]
        unsafe {
            std::slice::from_raw_parts_mut(self.data.add(row * self.stride), self.columns)
        }
    }
}
