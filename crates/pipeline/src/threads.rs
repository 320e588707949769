//! How many threads do the work.

use crate::Error;

/// Sets how many threads every later call uses; 0 is one for each core. Call it once, first.
///
/// ```standalone_crate
/// consequence_pipeline::use_threads(2)?;
/// let again = consequence_pipeline::use_threads(3).unwrap_err();
/// assert!(again.to_string().starts_with("cannot work with 3 threads"));
/// # Ok::<(), consequence_pipeline::Error>(())
/// ```
pub fn use_threads(threads: usize) -> Result<(), Error> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build_global()
        .map_err(|error| Error::Threads { threads, reason: error.to_string() })
}
