//! A record with what is known of it, on its way with counts.

use consequence_record::{AgeBand, Code, Details, EventDetail, Record, RecordView};

use crate::codec::{Damaged, Reader, Writer};
use crate::counts::Coded;

/// A record that was taken along.
#[derive(Clone, Debug, PartialEq)]
pub struct SampledRecord {
    /// Its id.
    pub id: String,
    /// Its codes.
    pub record: Record,
    /// What is known of it.
    pub details: Details,
}

impl SampledRecord {
    /// A copy of a record.
    pub fn of(id: &str, record: RecordView<'_>) -> Self {
        let details = record.details().to_details();
        Self { id: id.to_owned(), record: record.to_record(), details }
    }
}

impl Coded for SampledRecord {
    fn write(&self, out: &mut Writer) {
        self.id.write(out);
        self.record.visits.write(out);
        self.record.ended.write(out);
        let Details { birth, times, ends, ages, events } = &self.details;
        birth.write(out);
        times.write(out);
        ends.write(out);
        ages.write(out);
        out.number(events.len() as u64);
        for event in events {
            event.visit.write(out);
            event.code.write(out);
            event.time.write(out);
            event.value.map(f32::to_bits).write(out);
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        let id = String::read(from)?;
        let visits: Vec<Vec<Code>> = Coded::read(from)?;
        let ended = bool::read(from)?;
        let birth = Coded::read(from)?;
        let times: Vec<i64> = Coded::read(from)?;
        let ends: Vec<Option<i64>> = Coded::read(from)?;
        let ages: Vec<Option<AgeBand>> = Coded::read(from)?;
        let length = from.length()?;
        let events = (0..length).map(|_| {
            Ok(EventDetail {
                visit: u32::read(from)?,
                code: Code::read(from)?,
                time: Coded::read(from)?,
                value: Option::<u32>::read(from)?.map(f32::from_bits),
            })
        });
        let events: Result<Vec<EventDetail>, Damaged> = events.collect();
        let details = Details { birth, times, ends, ages, events: events? };
        let mut record = Record::new(visits);
        record.ended = ended;
        Ok(Self { id, record, details })
    }
}
