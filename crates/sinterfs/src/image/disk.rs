//! What is shown of a disk whose partition is opened.
//!
//! In: a partition table, and the choice. Out: notes and rows of information.

use sinterfs_format::{InfoRows, InfoValue};
use sinterfs_partition::{Partition, PartitionTable};

/// A disk, and which of its partitions was opened.
#[derive(Debug, Clone)]
pub(crate) struct ChosenPartition {
    pub(crate) table: PartitionTable,
    pub(crate) number: u32,
    /// Which other images were passed over, unless the options named the partition.
    pub(crate) found_besides: Option<PassedOver>,
}

/// Images of a disk that are not meant where there is another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PassedOver {
    /// None.
    None,
    /// Only those in partitions of the firmware.
    Firmware,
    /// File systems of FAT.
    Fat,
}

impl ChosenPartition {
    /// Returns what the user should know.
    pub(crate) fn notes(&self) -> Vec<String> {
        let found = |besides| {
            let (number, kind) = (self.number, self.table.kind.name());
            let besides = match besides {
                PassedOver::None => "",
                PassedOver::Firmware => " besides the firmware's partition",
                PassedOver::Fat => " besides FAT",
            };
            format!(
                "a disk with {kind}; opened partition {number}, the only one with an image{besides}"
            )
        };
        let damage = self
            .table
            .note
            .iter()
            .map(|note| format!("{note}; the second copy, at the end of the disk, is used"));
        damage.chain(self.found_besides.map(found)).collect()
    }

    /// Describes the disk.
    pub(crate) fn rows(&self) -> InfoRows {
        let mut rows = vec![("partition".to_owned(), u64::from(self.number).into())];
        rows.extend(rows_of(&self.table, None));
        rows
    }
}

/// Describes a table; `formats` are those of the images in its partitions.
pub(crate) fn rows_of(table: &PartitionTable, formats: Option<&[Option<&str>]>) -> InfoRows {
    let text = |text: &str| InfoValue::from(text);
    let partition = |(index, part): (usize, &Partition)| {
        let mut rows = vec![
            ("number".to_owned(), u64::from(part.number).into()),
            ("start".to_owned(), part.start.into()),
            ("bytes".to_owned(), part.len.into()),
            ("type".to_owned(), text(&part.kind)),
        ];
        if !part.name.is_empty() {
            rows.push(("name".to_owned(), text(&part.name)));
        }
        let format = formats.and_then(|formats| formats.get(index).copied().flatten());
        rows.extend(format.map(|format| ("format".to_owned(), text(format))));
        let problem = part.problem.as_deref();
        rows.extend(problem.map(|problem| ("problem".to_owned(), text(problem))));
        InfoValue::Map(rows)
    };
    let partitions = table.partitions.iter().enumerate().map(partition);
    let mut rows = vec![
        ("partition table".to_owned(), text(table.kind.name())),
        ("sector".to_owned(), u64::from(table.sector).into()),
        (
            "partitions".to_owned(),
            InfoValue::List(partitions.collect()),
        ),
    ];
    let note = table.note.as_deref();
    rows.extend(note.map(|note| ("note".to_owned(), text(note))));
    rows
}
