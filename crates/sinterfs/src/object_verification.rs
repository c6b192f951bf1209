//! What a mount over a store of objects verifies: plain data.

/// Who compares objects with the digests that the image names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ObjectVerification {
    /// The kernel, each time an object is opened, by fs-verity.
    ByKernel,
    /// This library, before it mounted the image.
    Before,
    /// Nobody.
    Not,
}
