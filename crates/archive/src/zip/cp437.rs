//! Names in the code page of the IBM PC, which a zip has where nothing else is said.
//!
//! Spec: APPNOTE appendix D; the table of code page 437 of the Unicode consortium. **Invariant:**
//! each byte becomes one character; ASCII stays.

/// The characters of the bytes 128 to 255.
const UPPER: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐\
                     └┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}";

/// Returns a name in UTF-8.
pub(super) fn to_utf8(name: &[u8]) -> Vec<u8> {
    let mut text = String::with_capacity(name.len());
    for &byte in name {
        let upper = usize::from(byte).checked_sub(128);
        let character = upper.and_then(|index| UPPER.chars().nth(index));
        text.push(character.unwrap_or(char::from(byte)));
    }
    text.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_a_character() {
        assert_eq!(UPPER.chars().count(), 128);
        assert_eq!(
            to_utf8(b"na\x8bve \x81ber \xff"),
            "naïve über \u{a0}".as_bytes()
        );
    }
}
