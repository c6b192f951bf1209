//! Codecs that were left out of this build by its Cargo features.
//!
//! **Invariant:** a block of such a codec is an error that names the codec and the feature, never
//! a panic.

use sinterfs_model::Error;

/// Makes the error for a codec without its feature.
#[cold]
#[allow(dead_code, reason = "with all features every codec is there")]
pub(crate) fn error(codec: &str, feature: &str) -> Error {
    Error::unsupported(format!(
        "{codec}: not in this build of the program (Cargo feature `{feature}`)"
    ))
}

/// Calls a function of a codec that exists with a feature only; without it, the result is the
/// error that names both.
macro_rules! built_in {
    ($feature:literal, $codec:literal, $module:ident::$function:ident($($argument:expr),*)) => {{
        #[cfg(feature = $feature)]
        {
            $module::$function($($argument),*)
        }
        #[cfg(not(feature = $feature))]
        {
            let _ = ($(&$argument,)*);
            Err($crate::missing::error($codec, $feature))
        }
    }};
}

pub(crate) use built_in;
