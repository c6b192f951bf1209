//! tar: ustar, PAX and GNU's own forms. Spec: POSIX.1-2024 pax, "Extended Header" and "ustar
//! Interchange Format"; GNU tar's manual, "Tar Internals".

pub mod layout;
pub mod read;
pub mod write;
