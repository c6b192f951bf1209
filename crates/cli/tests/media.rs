//! Audio and images in files of every kind, through whole images: built, checked, extracted,
//! recompressed, and read by upstream's tools where there are some.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use support::{peer, run, scratch, sinter, try_run};

/// A melody with some noise: samples of so many bits for each channel in turn.
fn melody(channels: usize, bits: u32, frames: usize, seed: u64) -> Vec<i32> {
    let mut state = seed;
    let top = f64::from(1u32 << (bits - 1)) - 1.0;
    (0..frames * channels)
        .map(|index| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let noise = (state >> 33) as f64 / f64::from(1u32 << 30) - 1.0;
            let at = (index / channels) as f64;
            let wave = (at / (17.0 + (index % channels) as f64)).sin();
            ((wave * 0.7 + noise * 0.01) * top) as i32
        })
        .collect()
}

/// Puts samples into bytes, at the top of them.
fn pack(samples: &[i32], bits: u32, bytes: usize, big: bool) -> Vec<u8> {
    let shifted = |sample: i32| sample << (8 * bytes as u32 - bits);
    samples
        .iter()
        .flat_map(|&sample| {
            let le = shifted(sample).to_le_bytes();
            let mut le = le[..bytes].to_vec();
            if big {
                le.reverse();
            }
            le
        })
        .collect()
}

fn chunk(name: &[u8; 4], data: &[u8]) -> Vec<u8> {
    let mut chunk = [&name[..], &(data.len() as u32).to_le_bytes(), data].concat();
    chunk.resize(chunk.len().next_multiple_of(2), 0);
    chunk
}

fn fmt(format: u16, channels: u16, bytes: u16, bits: u16) -> Vec<u8> {
    let frame = channels * bytes;
    let mut fmt = [format.to_le_bytes(), channels.to_le_bytes()].concat();
    fmt.extend(44_100u32.to_le_bytes());
    fmt.extend((44_100 * u32::from(frame)).to_le_bytes());
    fmt.extend(frame.to_le_bytes());
    fmt.extend(bits.to_le_bytes());
    fmt
}

fn riff(chunks: &[Vec<u8>]) -> Vec<u8> {
    let body = chunks.concat();
    let size = (body.len() as u32 + 4).to_le_bytes();
    [&b"RIFF"[..], &size, b"WAVE", &body].concat()
}

fn wav(channels: u16, bytes: u16, bits: u16, data: &[u8]) -> Vec<u8> {
    let tail = chunk(b"LIST", b"INFOISFT\x0e\0\0\0Lavf58.45.100\0");
    riff(&[
        chunk(b"fmt ", &fmt(1, channels, bytes, bits)),
        chunk(b"data", data),
        tail,
    ])
}

fn extensible(channels: u16, bytes: u16, valid: u16, data: &[u8]) -> Vec<u8> {
    let mut format = fmt(0xfffe, channels, bytes, 8 * bytes);
    format.extend(22u16.to_le_bytes());
    format.extend(valid.to_le_bytes());
    format.extend([
        3, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xaa, 0, 0x38, 0x9b, 0x71,
    ]);
    riff(&[chunk(b"fmt ", &format), chunk(b"data", data)])
}

fn aiff(kind: &[u8; 4], compression: &[u8], bits: u16, data: &[u8]) -> Vec<u8> {
    let frames = data.len() as u32 / u32::from(2 * bits / 8);
    let mut comm = 2u16.to_be_bytes().to_vec();
    comm.extend(frames.to_be_bytes());
    comm.extend(bits.to_be_bytes());
    comm.extend([0x40, 0x0e, 0xac, 0x44, 0, 0, 0, 0, 0, 0]);
    comm.extend(compression);
    let part = |name: &[u8; 4], data: &[u8]| {
        [&name[..], &(data.len() as u32).to_be_bytes(), data].concat()
    };
    let body = [
        part(b"COMM", &comm),
        part(b"SSND", &[&[0; 8], data].concat()),
    ]
    .concat();
    let size = (body.len() as u32 + 4).to_be_bytes();
    [&b"FORM"[..], &size, kind, &body].concat()
}

fn caf(data: &[u8]) -> Vec<u8> {
    let mut file = b"caff\0\x01\0\0desc\0\0\0\0\0\0\0\x20".to_vec();
    file.extend(44_100f64.to_be_bytes());
    file.extend(b"lpcm");
    // little-endian, 4 bytes of one frame, two channels of 16 bits
    file.extend([2u32, 4, 1, 2, 16].map(u32::to_be_bytes).as_flattened());
    file.extend(b"data");
    file.extend((-1i64).to_be_bytes());
    file.extend([0; 4]);
    file.extend(data);
    file
}

fn wave64(data: &[u8]) -> Vec<u8> {
    let tail = [
        0xf3, 0xac, 0xd3, 0x11, 0x8c, 0xd1, 0, 0xc0, 0x4f, 0x8e, 0xdb, 0x8a,
    ];
    let part = |name: &[u8; 4], data: &[u8]| {
        let size = (data.len() as u64 + 24).to_le_bytes();
        let mut part = [&name[..], &tail, &size, data].concat();
        part.resize(part.len().next_multiple_of(8), 0);
        part
    };
    let head = [
        0x2e, 0x91, 0xcf, 0x11, 0xa5, 0xd6, 0x28, 0xdb, 4, 0xc1, 0, 0,
    ];
    let wave = [&b"wave"[..], &tail].concat();
    let body = [part(b"fmt ", &fmt(1, 2, 2, 16)), part(b"data", data)].concat();
    let size = (body.len() as u64 + 40).to_le_bytes();
    [&b"riff"[..], &head, &size, &wave, &body].concat()
}

fn rf64(data: &[u8]) -> Vec<u8> {
    let mut sizes = [
        0u64.to_le_bytes(),
        (data.len() as u64).to_le_bytes(),
        [0; 8],
    ]
    .concat();
    sizes.extend([0; 4]);
    let mut body = [chunk(b"ds64", &sizes), chunk(b"fmt ", &fmt(1, 2, 2, 16))].concat();
    body.extend(b"data\xff\xff\xff\xff");
    body.extend(data);
    [&b"RF64\xff\xff\xff\xffWAVE"[..], &body].concat()
}

fn fits(bits: i32, width: usize, height: usize, pixel: impl Fn(usize, usize) -> u16) -> Vec<u8> {
    let cards = [
        "SIMPLE  =                    T".to_owned(),
        format!("BITPIX  = {bits:20}"),
        "NAXIS   =                    2".to_owned(),
        format!("NAXIS1  = {width:20}"),
        format!("NAXIS2  = {height:20}"),
        "BZERO   =                32768 / unsigned".to_owned(),
        "END".to_owned(),
    ];
    let mut file: Vec<u8> = cards
        .iter()
        .flat_map(|card| format!("{card:80}").into_bytes())
        .collect();
    file.resize(2880, b' ');
    for y in 0..height {
        file.extend((0..width).flat_map(|x| pixel(x, y).to_be_bytes()));
    }
    file.resize(file.len().next_multiple_of(2880), 0);
    file
}

/// Files with audio and images, sound and damaged.
fn files() -> Vec<(&'static str, Vec<u8>)> {
    let cd = pack(&melody(2, 16, 40_000, 1), 16, 2, false);
    let motorola = pack(&melody(2, 16, 9000, 2), 16, 2, true);
    let eight: Vec<u8> = melody(1, 8, 20_000, 3)
        .iter()
        .map(|sample| (sample + 128) as u8)
        .collect();
    let mono24 = pack(&melody(1, 24, 30_000, 4), 24, 3, false);
    let mut wide = pack(&melody(2, 24, 9000, 5), 24, 4, false);
    let surround = pack(&melody(6, 16, 5000, 6), 16, 2, false);
    let dark = |x: usize, y: usize| (1000 + (x * x + y * 7) % 13) as u16;
    let mosaic = |x: usize, y: usize| {
        (if (x + y).is_multiple_of(2) { 700 } else { 5000 } + x % 9) as u16 * 4
    };
    let mut files = vec![
        ("cd.wav", wav(2, 2, 16, &cd)),
        // the same waveform but for its beginning, and with three bytes more
        (
            "again.wav",
            wav(2, 2, 16, &[&cd[32_000..], b"abc"].concat()),
        ),
        ("eight.wav", wav(1, 1, 8, &eight)),
        ("mono24.wav", wav(1, 3, 24, &mono24)),
        ("wide.wav", extensible(2, 4, 24, &wide)),
        ("surround.wav", wav(6, 2, 16, &surround)),
        ("large.wav", rf64(&cd[..100_000])),
        ("motorola.aiff", aiff(b"AIFF", b"", 16, &motorola)),
        ("little.aifc", aiff(b"AIFC", b"sowt\0\0", 16, &cd[..50_000])),
        ("core.caf", caf(&cd[4000..70_000])),
        ("sony.w64", wave64(&cd[..60_000])),
        (
            "sun.au",
            [
                &b".snd\0\0\0\x18\xff\xff\xff\xff\0\0\0\x03\0\0\xac\x44\0\0\0\x02"[..],
                &motorola,
            ]
            .concat(),
        ),
        (
            "float.wav",
            riff(&[chunk(b"fmt ", &fmt(3, 1, 4, 32)), chunk(b"data", &wide)]),
        ),
        ("short.wav", wav(2, 2, 16, &cd[..100])),
        ("dark.fits", fits(16, 301, 200, dark)),
        ("mosaic.fits", fits(16, 300, 200, mosaic)),
        ("float.fits", fits(-32, 200, 200, dark)),
        ("cut.fits", fits(16, 300, 200, dark)[..60_001].to_vec()),
        ("readme.txt", b"some text\n".repeat(300)),
    ];
    // a sample that has something in its padding
    wide[40_001] = 1;
    wide[40_000] = 1;
    files.push(("odd.wav", extensible(2, 4, 24, &wide)));
    let whole = wav(2, 2, 16, &cd);
    files.push(("cut.wav", whole[..100_001].to_vec()));
    files.push(("stub.wav", whole[..30].to_vec()));
    let mut lying = whole.clone();
    lying[40..44].copy_from_slice(&u32::MAX.to_le_bytes());
    files.push(("lying.wav", lying));
    let mut silent = vec![0; 50_000];
    silent.splice(20_000..20_000, cd[..999].iter().copied());
    files.push(("silent.wav", wav(2, 2, 16, &silent)));
    files
}

fn write_tree(dir: &Path) {
    fs::create_dir(dir).unwrap();
    for (name, bytes) in files() {
        fs::write(dir.join(name), bytes).unwrap();
    }
    // frames around holes
    let sparse = fs::File::create(dir.join("sparse.wav")).unwrap();
    let (_, whole) = &files()[3];
    let (start, end) = (8192, 57_344);
    use std::os::unix::fs::FileExt;
    sparse.write_all_at(&whole[..start], 0).unwrap();
    sparse.write_all_at(&whole[end..], end as u64).unwrap();
}

/// Fails unless two directories have the same files with the same bytes.
fn same(a: &Path, b: &Path) {
    let names = |dir: &Path| {
        let entries = fs::read_dir(dir).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    assert_eq!(names(a), names(b));
    for name in names(a) {
        let same = fs::read(a.join(&name)).unwrap() == fs::read(b.join(&name)).unwrap();
        assert!(same, "{}", name.display());
    }
}

fn build(tree: &Path, image: &Path, flags: &[&str]) {
    let mut all = vec!["build", "--quiet", "--force", "-o"];
    all.push(image.to_str().unwrap());
    all.push(tree.to_str().unwrap());
    all.extend(flags);
    run(all);
}

fn extracted(image: &Path, dir: PathBuf) -> PathBuf {
    run([Path::new("check"), Path::new("--deep"), image]);
    run([Path::new("extract"), image, Path::new("-o"), &dir]);
    dir
}

/// Returns the names of categories, and the codecs of blocks.
fn told(image: &Path) -> (Vec<String>, Vec<String>) {
    let output = run([Path::new("info"), Path::new("--json"), image]);
    let info: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let list = |rows: &serde_json::Value, key: &str| -> Vec<String> {
        let rows = rows.as_array().map_or(&[][..], Vec::as_slice);
        rows.iter()
            .map(|row| row[key].as_str().unwrap().to_owned())
            .collect()
    };
    let blocks = info["sections"].as_array().unwrap();
    let blocks = blocks.iter().filter(|row| row["type"] == "BLOCK").cloned();
    let blocks = serde_json::Value::Array(blocks.collect());
    (
        list(&info["categories"], "name"),
        list(&blocks, "compression"),
    )
}

#[test]
fn audio_and_images_come_back_whatever_is_asked() {
    let work = scratch();
    let tree = work.path().join("tree");
    write_tree(&tree);
    let image = work.path().join("image.dwarfs");
    let cases: [(&[&str], &[&str], &[&str]); 9] = [
        (
            &[],
            &["FLAC", "RICEPP"],
            &["pcmaudio/waveform", "fits/image", "text"],
        ),
        (
            &["-l1"],
            &["FLAC", "RICEPP"],
            &["pcmaudio/waveform", "fits/image"],
        ),
        (
            &["-l9", "-b", "1M"],
            &["FLAC", "RICEPP"],
            &["pcmaudio/waveform"],
        ),
        (
            &["-l4", "-b", "1k"],
            &["FLAC", "RICEPP"],
            &["pcmaudio/waveform"],
        ),
        (
            &["-l0"],
            &["!FLAC", "!RICEPP"],
            &["pcmaudio/waveform", "fits/image"],
        ),
        (
            &["--no-categorize", "-l4"],
            &["!FLAC", "!RICEPP", "ZSTD"],
            &["!pcmaudio/waveform", "!fits/image", "!text"],
        ),
        (
            &["--categorize=fits,text", "-l4"],
            &["!FLAC", "RICEPP"],
            &["!pcmaudio/waveform", "fits/image", "text"],
        ),
        (
            &[
                "-l4",
                "-C",
                "pcmaudio/waveform::lz4",
                "-C",
                "fits::brotli:quality=3",
            ],
            &["!FLAC", "!RICEPP", "LZ4", "BROTLI"],
            &["pcmaudio/waveform", "fits/image"],
        ),
        (
            &[
                "--categorize",
                "-l4",
                "-C",
                "lz4",
                "-C",
                "pcmaudio::flac:level=3",
                "-C",
                "fits/image::ricepp:block_size=512",
            ],
            &["FLAC", "RICEPP", "LZ4", "!ZSTD"],
            &["pcmaudio/waveform"],
        ),
    ];
    for (index, (flags, codecs, categories)) in cases.into_iter().enumerate() {
        build(&tree, &image, flags);
        same(
            &tree,
            &extracted(&image, work.path().join(format!("out{index}"))),
        );
        let (names, blocks) = told(&image);
        for (expected, found) in [(codecs, &blocks), (categories, &names)] {
            for word in expected {
                let (word, wanted) = match word.strip_prefix('!') {
                    Some(word) => (word, false),
                    None => (*word, true),
                };
                let there = found.iter().any(|name| name == word);
                assert_eq!(there, wanted, "{flags:?}: {word} in {found:?}");
            }
        }
    }
}

#[test]
fn codecs_of_samples_pay_and_do_not_depend_on_threads() {
    let work = scratch();
    let tree = work.path().join("tree");
    write_tree(&tree);
    let [one, four, plain] = ["one", "four", "plain"].map(|name| work.path().join(name));
    build(&tree, &one, &["-l5", "-j1", "-b", "64k"]);
    build(&tree, &four, &["-l5", "-j4", "-b", "64k"]);
    assert!(fs::read(&one).unwrap() == fs::read(&four).unwrap());
    build(&tree, &plain, &["-l5", "--no-categorize", "-b", "64k"]);
    let size = |path: &Path| fs::metadata(path).unwrap().len();
    assert!(
        size(&one) * 10 < size(&plain) * 8,
        "{} {}",
        size(&one),
        size(&plain)
    );
}

#[test]
fn refuses_codecs_that_do_not_fit_the_category() {
    let work = scratch();
    let tree = work.path().join("tree");
    fs::create_dir(&tree).unwrap();
    let image = work.path().join("image.dwarfs");
    for (flags, word) in [
        (&["-C", "flac"][..], "flac"),
        (&["-C", "text::flac"], "text"),
        (&["-C", "pcmaudio/waveform::ricepp"], "ricepp"),
        (&["-C", "no/such::lz4"], "no/such"),
        (&["-C", "pcmaudio/waveform::flac:level=9"], "level"),
        (&["-C", "lz4", "-C", "zstd"], "CATEGORY::"),
        (&["--categorize=nonsense"], "nonsense"),
        (&["--categorize=fits", "--no-categorize"], "--no-categorize"),
    ] {
        let mut command = sinter();
        let output = command
            .args(["build", "-o"])
            .arg(&image)
            .arg(&tree)
            .args(flags)
            .output();
        let output = output.unwrap();
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(
            !output.status.success() && words.contains(word),
            "{flags:?}: {words}"
        );
        assert!(!image.exists(), "{flags:?}");
    }
}

#[test]
fn audio_is_recompressed_with_a_codec_of_its_own() {
    let work = scratch();
    let tree = work.path().join("tree");
    write_tree(&tree);
    let [fast, small, other] = ["fast", "small", "other"].map(|name| work.path().join(name));
    build(&tree, &fast, &["-l1"]);
    let recompress = |from: &Path, to: &Path, flags: &[&str]| {
        let mut all = vec![
            "recompress",
            "--quiet",
            from.to_str().unwrap(),
            "-o",
            to.to_str().unwrap(),
        ];
        all.extend(flags);
        try_run(all)
    };
    let flags = [
        "-l1",
        "-C",
        "pcmaudio/waveform::flac:level=8",
        "-C",
        "fits/image::ricepp",
    ];
    let done = recompress(&fast, &small, &flags);
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    same(&tree, &extracted(&small, work.path().join("out")));
    let size = |path: &Path| fs::metadata(path).unwrap().len();
    assert!(
        size(&small) * 100 < size(&fast) * 95,
        "{} {}",
        size(&small),
        size(&fast)
    );
    // content that is cut anew is classified anew
    let flags = [
        "-b",
        "64k",
        "-l4",
        "-C",
        "pcmaudio/waveform::flac:level=4",
        "--categorize=pcmaudio",
    ];
    let done = recompress(&small, &other, &flags);
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    same(&tree, &extracted(&other, work.path().join("out2")));
    assert_eq!(told(&other).0, ["<default>", "pcmaudio/waveform"]);
    let refused = recompress(&small, &work.path().join("no"), &["--categorize"]);
    assert!(!refused.status.success());
}

#[test]
fn upstream_reads_and_recompresses_our_images() {
    let (Some(dwarfsck), Some(dwarfsextract), Some(mkdwarfs)) =
        (peer("dwarfsck"), peer("dwarfsextract"), peer("mkdwarfs"))
    else {
        return;
    };
    let work = scratch();
    let tree = work.path().join("tree");
    write_tree(&tree);
    let image = work.path().join("image.dwarfs");
    let succeeds = |command: &mut Command| {
        let output = command.output().unwrap();
        let words = [output.stdout, output.stderr].concat();
        let words = String::from_utf8_lossy(&words).into_owned();
        assert!(output.status.success(), "{command:?}: {words}");
        words
    };
    for (index, flags) in [
        &["-l7"][..],
        &["-l1"],
        &["-l4", "-b", "4k"],
        &["-l4", "-C", "pcmaudio/waveform::flac:exhaustive"],
    ]
    .into_iter()
    .enumerate()
    {
        build(&tree, &image, flags);
        succeeds(
            Command::new(&dwarfsck)
                .arg("-i")
                .arg(&image)
                .args(["--check-integrity", "-q"]),
        );
        let words = succeeds(Command::new(&dwarfsck).arg("-i").arg(&image).arg("-d9"));
        for json in [
            r#"{"bits_per_sample":32,"bytes_per_sample":4,"endianness":"little","number_of_channels":2,"padding":"lsb","signedness":"signed"}"#,
            r#"{"bits_per_sample":8,"bytes_per_sample":1,"endianness":"little","number_of_channels":1,"padding":"lsb","signedness":"unsigned"}"#,
            r#"{"bytes_per_sample":2,"component_count":2,"endianness":"big","unused_lsb_count":2}"#,
        ] {
            assert!(words.contains(json), "{json} in {words}");
        }
        let out = work.path().join(format!("out{index}"));
        fs::create_dir(&out).unwrap();
        succeeds(
            Command::new(&dwarfsextract)
                .arg("-i")
                .arg(&image)
                .arg("-o")
                .arg(&out),
        );
        same(&tree, &out);
        if index == 2 {
            // thousands of blocks prove nothing more
            continue;
        }
        let again = work.path().join("again.dwarfs");
        succeeds(
            Command::new(&mkdwarfs)
                .arg("-i")
                .arg(&image)
                .arg("-o")
                .arg(&again)
                .args([
                    "--recompress",
                    "-f",
                    "--no-progress",
                    "-l3",
                    "--log-level=error",
                ])
                .args([
                    "-C",
                    "pcmaudio/waveform::flac:level=1",
                    "-C",
                    "fits/image::ricepp",
                ]),
        );
        same(
            &tree,
            &extracted(&again, work.path().join(format!("again{index}"))),
        );
    }
}

#[test]
fn incompressible_content_is_searched_for_repeats() {
    let work = scratch();
    let tree = work.path().join("tree");
    fs::create_dir(&tree).unwrap();
    // pieces of one file in the other, too short to be cut out of the stream
    let first = sinterfs_testkit::noise(1, 1 << 20);
    let fresh = sinterfs_testkit::noise(2, 1 << 20);
    let pieces = first.chunks(700).rev().zip(fresh.chunks(700));
    let second: Vec<u8> = pieces.flat_map(|(old, new)| [old, new].concat()).collect();
    fs::write(tree.join("a"), &first).unwrap();
    fs::write(tree.join("b"), &second).unwrap();
    let len = |flags: &[&str]| {
        let image = work.path().join("image");
        support::build("dwarfs", &tree, &image, flags).len()
    };
    let (all, new) = (first.len() + second.len(), first.len() + fresh.len());
    let found = len(&[]);
    assert!(found < new + new / 50, "{found} of {all}");
    for flags in [
        &["-l3"][..],
        &["-C", "lzma2"],
        &["-C", "incompressible::none"],
    ] {
        let stored = len(flags);
        assert!(stored > all - all / 50, "{flags:?}: {stored} of {all}");
    }
}
