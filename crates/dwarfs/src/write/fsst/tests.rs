//! Symbol tables and codes, decoded as the format describes it and not by our own reader.

use sinterfs_testkit::noise;

use super::table::{Cuts, Symbol, SymbolTable};
use super::*;

/// Decodes as the format's description says, from the stored table alone.
fn decode(stored: &[u8], mut code: &[u8]) -> Vec<u8> {
    assert_eq!(stored[0], 1);
    assert_eq!(stored[4..8], [0x0a, 0x14, 0x34, 0x01]);
    assert_eq!(stored[8], 0);
    let histogram = &stored[9..17];
    assert_eq!(
        histogram.iter().map(|&n| usize::from(n)).sum::<usize>(),
        usize::from(stored[1])
    );
    let mut rest = &stored[17..];
    let mut symbols = Vec::new();
    for len in [2, 3, 4, 5, 6, 7, 8, 1] {
        for _ in 0..histogram[len - 1] {
            let (symbol, tail) = rest.split_at(len);
            symbols.push(symbol);
            rest = tail;
        }
    }
    assert!(rest.is_empty());
    let mut out = Vec::new();
    while let Some((&first, tail)) = code.split_first() {
        if first == 255 {
            out.push(tail[0]);
            code = &tail[1..];
        } else {
            out.extend_from_slice(symbols[usize::from(first)]);
            code = tail;
        }
    }
    out
}

fn round_trip(strings: &[&[u8]]) -> usize {
    let table = train(strings);
    let stored = table.stored();
    let mut cuts = Cuts::default();
    let mut size = stored.len();
    for string in strings {
        let mut code = Vec::new();
        table.encode(string, &mut cuts, &mut code);
        assert_eq!(decode(&stored, &code), *string);
        size += code.len();
    }
    size
}

#[test]
fn the_example_of_the_format_description() {
    let symbol = |bytes: &[u8]| {
        let mut symbol = Symbol::byte(bytes[0]);
        for byte in &bytes[1..] {
            symbol = symbol.join(Symbol::byte(*byte)).unwrap();
        }
        symbol
    };
    let table = SymbolTable::new([&b"D"[..], b"war", b"FS", b"!"].map(symbol).to_vec());
    let stored = table.stored();
    #[rustfmt::skip]
    assert_eq!(stored, [
        0x01, 4, 0, 0, 0x0a, 0x14, 0x34, 0x01, 0x00,
        2, 1, 1, 0, 0, 0, 0, 0,     // two of 1 byte, one of 2, one of 3
        b'F', b'S', b'w', b'a', b'r', b'!', b'D',
    ]);
    let mut code = Vec::new();
    table.encode(b"DwarFS!", &mut Cuts::default(), &mut code);
    assert_eq!(code, [3, 1, 0, 2]);
    code.clear();
    table.encode(b"DwxS", &mut Cuts::default(), &mut code);
    assert_eq!(code, [3, 255, b'w', 255, b'x', 255, b'S']);
}

#[test]
fn regular_names_shrink_to_less_than_half() {
    let names: Vec<String> = (0..5000)
        .map(|i| format!("libsomething-{i:04}.so.{}", i % 7))
        .collect();
    let refs: Vec<&[u8]> = names.iter().map(String::as_bytes).collect();
    let raw: usize = refs.iter().map(|name| name.len()).sum();
    let size = round_trip(&refs);
    assert!(size * 2 < raw, "{size} of {raw}");
}

#[test]
fn any_bytes_survive() {
    let strings: Vec<Vec<u8>> = (0..2000).map(|i| noise(i, i as usize % 61)).collect();
    let refs: Vec<&[u8]> = strings.iter().map(Vec::as_slice).collect();
    round_trip(&refs);
    round_trip(&[]);
    round_trip(&[b"", b""]);
    round_trip(&[b"\xff"]);
    round_trip(&[&[b'a'; 255], &[b'b'; 4095], &[0; 17]]);
}

#[test]
fn training_is_determined() {
    let names: Vec<String> = (0..30_000)
        .map(|i| format!("{:x}", i * 7919 % 65_537))
        .collect();
    let refs: Vec<&[u8]> = names.iter().map(String::as_bytes).collect();
    assert_eq!(train(&refs).stored(), train(&refs).stored());
}
