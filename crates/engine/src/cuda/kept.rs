//! Kernels that were compiled before: the compiler takes seconds, and its output is a text.

use std::sync::OnceLock;

/// Somewhere that compiled kernels are kept from one run to the next. What cannot be kept, or is gone, is
/// compiled anew.
pub trait KernelStore: Send + Sync {
    /// What was kept under a name.
    fn find(&self, name: &str) -> Option<Vec<u8>>;

    /// Keeps bytes under a name.
    fn keep(&self, name: &str, bytes: &[u8]);
}

static STORE: OnceLock<Box<dyn KernelStore>> = OnceLock::new();

/// Has this process keep the kernels that it compiles, and look for those that are kept. The first call
/// counts.
pub fn keep_kernels(store: impl KernelStore + 'static) {
    // A later one is dropped.
    let _ = STORE.set(Box::new(store));
}

/// What a compiler makes of a source: what is kept of it, else what `compile` gives, which is kept.
pub(super) fn compiled<E>(
    options: &str,
    source: &str,
    compile: impl FnOnce() -> Result<String, E>,
) -> Result<String, E> {
    match STORE.get() {
        Some(store) => compiled_by(&**store, options, source, compile),
        None => compile(),
    }
}

fn compiled_by<E>(
    store: &dyn KernelStore,
    options: &str,
    source: &str,
    compile: impl FnOnce() -> Result<String, E>,
) -> Result<String, E> {
    let name = format!("{:016x}", hash([options, source]));
    if let Some(kept) = store.find(&name).and_then(|bytes| read(&bytes, options, source)) {
        return Ok(kept);
    }
    let compiled = compile()?;
    store.keep(&name, &write(options, source, &compiled));
    Ok(compiled)
}

/// What is kept says what it was made of, so that no name can stand for another source, and ends in a
/// hash, so that damage is found.
fn write(options: &str, source: &str, compiled: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for text in [options, source, compiled] {
        bytes.extend((text.len() as u64).to_le_bytes());
        bytes.extend(text.as_bytes());
    }
    bytes.extend(hash([options, source, compiled]).to_le_bytes());
    bytes
}

fn read(mut bytes: &[u8], options: &str, source: &str) -> Option<String> {
    let mut texts = Vec::new();
    for _ in 0..3 {
        let (length, rest) = bytes.split_first_chunk()?;
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        let (text, rest) = rest.split_at_checked(length)?;
        texts.push(std::str::from_utf8(text).ok()?);
        bytes = rest;
    }
    let [kept_options, kept_source, compiled] = texts[..] else { return None };
    let whole = bytes == hash([kept_options, kept_source, compiled]).to_le_bytes();
    (whole && kept_options == options && kept_source == source).then(|| compiled.to_owned())
}

/// FNV-1a, with the end of each text in it.
fn hash<const COUNT: usize>(texts: [&str; COUNT]) -> u64 {
    let bytes = texts.into_iter().flat_map(|text| text.bytes().chain([0xff]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::convert::Infallible;
    use std::sync::Mutex;

    use super::{KernelStore, compiled_by};

    #[derive(Default)]
    struct InMemory(Mutex<HashMap<String, Vec<u8>>>);

    impl KernelStore for InMemory {
        fn find(&self, name: &str) -> Option<Vec<u8>> {
            self.0.lock().unwrap().get(name).cloned()
        }

        fn keep(&self, name: &str, bytes: &[u8]) {
            self.0.lock().unwrap().insert(name.to_owned(), bytes.to_vec());
        }
    }

    #[test]
    fn a_source_is_compiled_once_for_each_kind_of_gpu_and_compiler() {
        let store = InMemory::default();
        let mut times = 0;
        let mut compile = |options: &str, source: &str| {
            let compile = || {
                times += 1;
                Ok::<_, Infallible>(format!("{source} for {options}"))
            };
            let Ok(made) = compiled_by(&store, options, source, compile);
            assert_eq!(made, format!("{source} for {options}"));
        };
        for (options, source) in [
            ("90, NVRTC 12.4", "a"),
            ("90, NVRTC 12.4", "a"),
            ("80, NVRTC 12.4", "a"),
            ("90, NVRTC 12.4", "b"),
            ("80, NVRTC 12.4", "a"),
            ("90, NVRTC 13.0", "a"),
        ] {
            compile(options, source);
        }
        assert_eq!(times, 4);
    }

    #[test]
    fn what_is_damaged_or_of_another_source_is_compiled_anew() {
        let store = InMemory::default();
        let made = |text: &'static str| move || Ok::<_, Infallible>(text.to_owned());
        let Ok(_) = compiled_by(&store, "o", "source", made("first"));
        let (name, whole) = store.0.lock().unwrap().drain().next().unwrap();
        for damaged in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[damaged] ^= 1;
            for bytes in [bytes, whole[..damaged].to_vec()] {
                store.keep(&name, &bytes);
                assert_eq!(compiled_by(&store, "o", "source", made("anew")), Ok("anew".to_owned()));
            }
        }
        store.keep(&name, &whole);
        assert_eq!(compiled_by(&store, "o", "source", made("anew")), Ok("first".to_owned()));
        store.keep(&name, &super::write("o", "another", "wrong"));
        assert_eq!(compiled_by(&store, "o", "source", made("anew")), Ok("anew".to_owned()));
    }
}
