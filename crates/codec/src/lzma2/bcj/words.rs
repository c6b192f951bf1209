//! A block as words of fixed size, for the converters whose instructions all have one size.

/// Calls a function with each word of `N` bytes and its position.
pub(super) fn each_word<const N: usize>(
    block: &mut [u8],
    mut convert: impl FnMut(&mut [u8; N], u32),
) {
    for (index, word) in block.as_chunks_mut::<N>().0.iter_mut().enumerate() {
        convert(word, (index * N) as u32);
    }
}
