//! Many short lists in two allocations.

/// Lists of values, one after the other.
///
/// ```
/// use consequence_record::Lists;
///
/// let mut lists = Lists::default();
/// lists.push([3, 1]);
/// lists.push([]);
/// assert_eq!((lists.len(), lists.list(0), lists.list(1)), (2, &[3, 1][..], &[][..]));
///
/// let filed = Lists::filed(3, &[(2, 'a'), (0, 'b'), (2, 'c')]);
/// assert_eq!(filed.iter().collect::<Vec<_>>(), [&['b'][..], &[], &['a', 'c']]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lists<T> {
    values: Vec<T>,
    ends: Vec<usize>,
}

impl<T> Default for Lists<T> {
    fn default() -> Self {
        Self { values: Vec::new(), ends: Vec::new() }
    }
}

impl<T> Lists<T> {
    /// Adds a list.
    pub fn push(&mut self, list: impl IntoIterator<Item = T>) {
        self.values.extend(list);
        self.ends.push(self.values.len());
    }

    /// Forgets all lists, keeping the memory.
    pub fn clear(&mut self) {
        self.values.clear();
        self.ends.clear();
    }

    /// The number of lists.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no list.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// A list by its number.
    ///
    /// # Panics
    ///
    /// If there are not so many.
    #[inline]
    pub fn list(&self, number: usize) -> &[T] {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.values[start..self.ends[number]]
    }

    /// The lists, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[T]> {
        (0..self.len()).map(|number| self.list(number))
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        size_of_val(self.values.as_slice()) + size_of_val(self.ends.as_slice())
    }
}

impl<T: Copy> Lists<T> {
    /// So many lists, with each value in the list of its number, in the order given.
    ///
    /// # Panics
    ///
    /// If a number is not below `lists`.
    pub fn filed(lists: usize, values: &[(u32, T)]) -> Self {
        let mut ends = vec![0; lists];
        for &(list, _) in values {
            ends[list as usize] += 1;
        }
        let mut total = 0;
        let mut next: Vec<usize> = Vec::with_capacity(lists);
        for end in &mut ends {
            next.push(total);
            total += *end;
            *end = total;
        }
        let Some(&(_, any)) = values.first() else { return Self { values: Vec::new(), ends } };
        let mut filed = vec![any; total];
        for &(list, value) in values {
            let slot = &mut next[list as usize];
            filed[*slot] = value;
            *slot += 1;
        }
        Self { values: filed, ends }
    }
}
