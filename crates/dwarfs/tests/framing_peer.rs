//! Packs audio and images of every kind with upstream's mkdwarfs and decodes what it made of them.
//!
//! Needs SINTER_PEER_DWARFS: the directory with mkdwarfs. It is in no package registry, so its
//! absence is said and is no failure; the vectors' FLAC and RICEPP blocks are tested everywhere.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use sinterfs_dwarfs::framing::{self, id};

const LIMIT: u64 = 1 << 30;

fn peer() -> Option<PathBuf> {
    let mkdwarfs = env::var_os("SINTER_PEER_DWARFS").map(|dir| PathBuf::from(dir).join("mkdwarfs"));
    let found = mkdwarfs.filter(|mkdwarfs| mkdwarfs.is_file());
    if found.is_none() {
        println!("NOT RUN: no mkdwarfs in SINTER_PEER_DWARFS");
    }
    found
}

/// How a waveform is stored.
#[derive(Debug, Clone, Copy)]
struct Waveform {
    channels: usize,
    bits: u32,
    bytes: usize,
    big_endian: bool,
    signed: bool,
}

impl Waveform {
    /// Packs noise, a ramp, a wave, a wave with noise, silence and a wave without its lowest bits;
    /// a sample is at the top of its bytes.
    fn data(self, seed: u64) -> Vec<u8> {
        let mut state = seed;
        let top = f64::from(1u32 << (self.bits - 1));
        let mut packed = Vec::new();
        for index in 0..6_000u32 {
            for channel in 0..self.channels {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695);
                let noise = (state >> 33) as f64 / f64::from(1u32 << 30) - 1.0;
                let wave = (f64::from(index) / (30.0 + channel as f64)).sin() * 0.9;
                let value = match index / 1000 {
                    0 => noise,
                    1 => f64::from(index % 500) / 500.0,
                    2 => wave,
                    3 => wave * 0.5 + noise * 0.01,
                    4 => 0.0,
                    _ => wave,
                };
                let mut sample = (value * (top - 1.0)).round() as i64;
                if index >= 5_000 {
                    sample &= !7;
                }
                let biased = if self.signed {
                    sample
                } else {
                    sample + top as i64
                };
                let shifted = (biased << (8 * self.bytes as u32 - self.bits)) as u32;
                if self.big_endian {
                    packed.extend(&shifted.to_be_bytes()[4 - self.bytes..]);
                } else {
                    packed.extend(&shifted.to_le_bytes()[..self.bytes]);
                }
            }
        }
        packed
    }

    fn wav(self, data: &[u8]) -> Vec<u8> {
        let frame = (self.channels * self.bytes) as u32;
        let mut file = b"RIFF".to_vec();
        file.extend((36 + data.len() as u32).to_le_bytes());
        file.extend(b"WAVEfmt \x10\0\0\0\x01\0");
        file.extend((self.channels as u16).to_le_bytes());
        file.extend(44_100u32.to_le_bytes());
        file.extend((44_100 * frame).to_le_bytes());
        file.extend((frame as u16).to_le_bytes());
        file.extend((self.bits as u16).to_le_bytes());
        file.extend(b"data");
        file.extend((data.len() as u32).to_le_bytes());
        file.extend(data);
        file
    }

    /// Writes the form of WAV that distinguishes valid bits from stored ones.
    fn extensible(self, data: &[u8]) -> Vec<u8> {
        let frame = (self.channels * self.bytes) as u32;
        let mut file = b"RIFF".to_vec();
        file.extend((60 + data.len() as u32).to_le_bytes());
        file.extend(b"WAVEfmt \x28\0\0\0\xfe\xff");
        file.extend((self.channels as u16).to_le_bytes());
        file.extend(44_100u32.to_le_bytes());
        file.extend((44_100 * frame).to_le_bytes());
        file.extend((frame as u16).to_le_bytes());
        file.extend((8 * self.bytes as u16).to_le_bytes());
        file.extend(22u16.to_le_bytes());
        file.extend((self.bits as u16).to_le_bytes());
        file.extend(0u32.to_le_bytes());
        file.extend(b"\x01\0\0\0\0\0\x10\0\x80\0\0\xaa\0\x38\x9b\x71data");
        file.extend((data.len() as u32).to_le_bytes());
        file.extend(data);
        file
    }

    fn aiff(self, data: &[u8]) -> Vec<u8> {
        let frames = (data.len() / self.channels / self.bytes) as u32;
        let mut file = b"FORM".to_vec();
        file.extend((4 + 26 + 16 + data.len() as u32).to_be_bytes());
        file.extend(b"AIFFCOMM\0\0\0\x12");
        file.extend((self.channels as u16).to_be_bytes());
        file.extend(frames.to_be_bytes());
        file.extend((self.bits as u16).to_be_bytes());
        file.extend(b"\x40\x0e\xac\x44\0\0\0\0\0\0SSND");
        file.extend((8 + data.len() as u32).to_be_bytes());
        file.extend([0; 8]);
        file.extend(data);
        file
    }

    fn caf(self, data: &[u8]) -> Vec<u8> {
        let mut file = b"caff\0\x01\0\0desc\0\0\0\0\0\0\0\x20".to_vec();
        file.extend(44_100f64.to_be_bytes());
        file.extend(b"lpcm");
        file.extend(if self.big_endian { 0u32 } else { 2 }.to_be_bytes());
        file.extend(((self.channels * self.bytes) as u32).to_be_bytes());
        file.extend(1u32.to_be_bytes());
        file.extend((self.channels as u32).to_be_bytes());
        file.extend(self.bits.to_be_bytes());
        file.extend(b"data");
        file.extend((4 + data.len() as u64).to_be_bytes());
        file.extend([0; 4]);
        file.extend(data);
        file
    }
}

/// Writes files of every kind that mkdwarfs takes for audio; returns the waveforms.
fn write_audio(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let mut waveforms = Vec::new();
    for (bits, bytes) in [
        (8, 1),
        (16, 2),
        (20, 3),
        (24, 3),
        (32, 4),
        (12, 2),
        (12, 4),
        (18, 3),
        (20, 4),
        (24, 4),
    ] {
        for channels in [1, 2, 3, 8] {
            for (extension, big_endian, signed) in [
                ("wav", false, bits > 8),
                ("extensible.wav", false, bits > 8),
                ("aiff", true, true),
                ("be.caf", true, true),
                ("le.caf", false, true),
            ] {
                // what else there is mkdwarfs does not take for audio
                let taken = match extension {
                    "extensible.wav" => true,
                    "be.caf" | "le.caf" => bits >= 20 || [(8, 1), (16, 2)].contains(&(bits, bytes)),
                    _ => [(8, 1), (16, 2), (20, 3), (24, 3), (32, 4)].contains(&(bits, bytes)),
                };
                if !taken {
                    continue;
                }
                let waveform = Waveform {
                    channels,
                    bits,
                    bytes,
                    big_endian,
                    signed,
                };
                let name = format!("{bits}bits-{bytes}bytes-{channels}ch.{extension}");
                let data = waveform.data(waveforms.len() as u64);
                let file = match extension {
                    "wav" => waveform.wav(&data),
                    "extensible.wav" => waveform.extensible(&data),
                    "aiff" => waveform.aiff(&data),
                    _ => waveform.caf(&data),
                };
                fs::write(dir.join(&name), file).unwrap();
                waveforms.push((name, data));
            }
        }
    }
    waveforms
}

/// Writes FITS images with and without unused low bits and a colour pattern; returns the pixels.
fn write_fits(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let mut images = Vec::new();
    for unused in 0..=8u32 {
        for colour in [false, true] {
            let (width, height) = (301 + 2 * unused, 200);
            let mut cards = vec![
                "SIMPLE  =                    T".to_owned(),
                "BITPIX  =                   16".to_owned(),
                "NAXIS   =                    2".to_owned(),
                format!("NAXIS1  = {width:20}"),
                format!("NAXIS2  = {height:20}"),
                "BZERO   =                32768".to_owned(),
                "BSCALE  =                    1".to_owned(),
            ];
            if colour {
                cards.push("BAYERPAT= 'RGGB    '".to_owned());
            }
            cards.push("END".to_owned());
            let mut file: Vec<u8> = cards
                .iter()
                .flat_map(|c| format!("{c:80}").into_bytes())
                .collect();
            file.resize(2880, b' ');
            let mut state = u64::from(unused) + 1;
            let pixels: Vec<u8> = (0..width * height)
                .flat_map(|index| {
                    state = state
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1_442_695);
                    let (x, y) = (index % width, index / width);
                    let star = if state >> 55 == 0 {
                        (state >> 40) as u16
                    } else {
                        0
                    };
                    let plain = if y > 150 {
                        0
                    } else {
                        (x + y) as u16 + (state >> 60) as u16
                    };
                    let noise = if y % 50 == 7 { (state >> 45) as u16 } else { 0 };
                    let pattern = if x % 2 == 1 { 700 } else { 0 };
                    let value = plain
                        .wrapping_add(star)
                        .wrapping_add(noise)
                        .wrapping_add(pattern);
                    (value << unused).to_be_bytes()
                })
                .collect();
            file.extend(&pixels);
            file.resize(file.len().next_multiple_of(2880), 0);
            let name = format!("{unused}unused-{colour}.fits");
            fs::write(dir.join(&name), file).unwrap();
            images.push((name, pixels));
        }
    }
    images
}

/// Runs mkdwarfs and decodes all sections of one compression.
fn pack(mkdwarfs: &Path, dir: &Path, compression: u16, options: &[&str]) -> Vec<Vec<u8>> {
    let image = dir.with_extension("img");
    let output = Command::new(mkdwarfs)
        .arg("-i")
        .arg(dir)
        .arg("-o")
        .arg(&image)
        .args([
            "-f",
            "--no-progress",
            "--log-level=error",
            "-l1",
            "-S26",
            "-W0",
            "--order=path",
        ])
        .args(options)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let image = fs::read(image).unwrap();
    let mut found = Vec::new();
    let mut at = 0;
    while at < image.len() {
        let field = |offset: usize, len: usize| {
            let bytes = &image[at + offset..at + offset + len];
            bytes
                .iter()
                .rev()
                .fold(0u64, |value, &byte| value << 8 | u64::from(byte))
        };
        assert_eq!(&image[at..at + 7], b"DWARFS\x02");
        let (id, len) = (field(0x36, 2), field(0x38, 8) as usize);
        if id == u64::from(compression) {
            let payload = &image[at + 64..at + 64 + len];
            found.push(framing::decode(compression, payload, LIMIT).unwrap());
        }
        at += 64 + len;
    }
    found
}

/// Checks that blocks hold all files, whole, and nothing else. A file begins with noise, so that
/// a search finds out soon.
fn hold_exactly(blocks: &[Vec<u8>], files: &[(String, Vec<u8>)]) {
    for (name, data) in files {
        let holds = |block: &Vec<u8>| block.windows(data.len()).any(|window| window == data);
        assert!(blocks.iter().any(holds), "{name} is in no block");
    }
    let decoded: usize = blocks.iter().map(Vec::len).sum();
    let written: usize = files.iter().map(|(_, data)| data.len()).sum();
    assert_eq!(decoded, written);
}

#[test]
fn audio_of_every_packing() {
    let Some(mkdwarfs) = peer() else { return };
    let scratch = tempfile::tempdir().unwrap();
    let dir = scratch.path().join("audio");
    fs::create_dir(&dir).unwrap();
    let waveforms = write_audio(&dir);
    for level in ["level=0", "level=5", "level=8:exhaustive"] {
        let codec = format!("pcmaudio/waveform::flac:{level}");
        let blocks = pack(
            &mkdwarfs,
            &dir,
            id::FLAC,
            &["--categorize=pcmaudio", "-C", &codec],
        );
        hold_exactly(&blocks, &waveforms);
    }
}

#[test]
fn images_of_every_packing() {
    let Some(mkdwarfs) = peer() else { return };
    let scratch = tempfile::tempdir().unwrap();
    let dir = scratch.path().join("images");
    fs::create_dir(&dir).unwrap();
    let images = write_fits(&dir);
    for size in ["16", "100", "128", "512"] {
        let codec = format!("fits/image::ricepp:block_size={size}");
        let blocks = pack(
            &mkdwarfs,
            &dir,
            id::RICEPP,
            &["--categorize=fits", "-C", &codec],
        );
        hold_exactly(&blocks, &images);
    }
}
