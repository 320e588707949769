//! The instruction sets that kernels are compiled for, and the one this machine has.

use std::sync::OnceLock;

/// An instruction set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// What every machine has.
    Plain,
    /// AVX2 with fused multiplication and addition.
    Avx2,
    /// AVX-512.
    Avx512,
}

impl Level {
    /// The best that this machine has.
    pub fn here() -> Self {
        static HERE: OnceLock<Level> = OnceLock::new();
        *HERE.get_or_init(detect)
    }
}

#[cfg(target_arch = "x86_64")]
fn detect() -> Level {
    if is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("fma")
    {
        Level::Avx512
    } else if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        Level::Avx2
    } else {
        Level::Plain
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn detect() -> Level {
    Level::Plain
}

/// Compiles a function for every instruction set and calls the best there is.
///
/// The body is plain code that the compiler turns into vector instructions. It never fuses a
/// multiplication with an addition, so the bits are the same at every level.
macro_rules! vectorised {
    ($(#[$note:meta])* $access:vis fn $name:ident($($argument:ident: $kind:ty),* $(,)?) $(-> $result:ty)? $body:block) => {
        $(#[$note])*
        $access fn $name($($argument: $kind),*) $(-> $result)? {
            #[inline(always)]
            fn plain($($argument: $kind),*) $(-> $result)? $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2")]
            fn avx2($($argument: $kind),*) $(-> $result)? {
                plain($($argument),*)
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512dq")]
            fn avx512($($argument: $kind),*) $(-> $result)? {
                plain($($argument),*)
            }

            match $crate::level::Level::here() {
                #[cfg(target_arch = "x86_64")]
                // SAFETY: `Level::here` has found these instructions on this machine.
                #[allow(unsafe_code)]
                $crate::level::Level::Avx512 => unsafe { avx512($($argument),*) },
                #[cfg(target_arch = "x86_64")]
                // SAFETY: `Level::here` has found these instructions on this machine.
                #[allow(unsafe_code)]
                $crate::level::Level::Avx2 => unsafe { avx2($($argument),*) },
                _ => plain($($argument),*),
            }
        }
    };
}

pub(crate) use vectorised;
