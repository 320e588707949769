//! The tables that patients are drawn from.

use consequence_record::Code;

use crate::bonds::{Bonds, demographic_bit};
use crate::catalogue::{CLUSTERS, Catalogue, NOTABLE, Ordinary, Profile, SEXES};
use crate::preset::{Band, Preset, Settings, Spread};
use crate::probability::Table;

/// Flattens the ranks of ordinary codes: the first is as frequent as if it had so many before it.
const HEAD: f64 = 20.0;

/// Codes that a cluster makes more frequent.
const COMPANIONS: usize = 16;

/// The share of patients whose sex, and whose age, is not known.
const UNKNOWN_SEX: f64 = 0.02;
const UNKNOWN_AGE: f64 = 0.015;

/// A cluster's codes.
pub(crate) struct Disease {
    pub cores: Vec<Code>,
    pub companions: Vec<Code>,
}

/// What is drawn for patients of one sex and age.
pub(crate) struct Population {
    /// The demographic codes.
    pub codes: Vec<Code>,
    /// Their bits.
    pub bits: u32,
    /// The probability to die in an encounter.
    pub death: f64,
    /// How many clusters a patient has, and which.
    pub cluster_count: Table,
    pub clusters: Table,
    /// Codes without a particular reason, by index in [`World::unrelated`].
    pub unrelated: Table,
}

/// Everything that patients are drawn from.
pub(crate) struct World {
    pub settings: Settings,
    pub bonds: Bonds,
    /// Which population a patient is of.
    pub shares: Table,
    pub populations: Vec<Population>,
    pub further_visits: Table,
    pub diseases: Vec<Disease>,
    pub companion_count: Table,
    pub companion: Table,
    pub unrelated_count: Table,
    pub unrelated: Vec<Code>,
    /// For each index in `unrelated`, the code of the category above.
    pub categories: Vec<Option<Code>>,
    /// The outcomes, death first, each with its rate.
    pub outcomes: Vec<(Code, f64)>,
}

impl World {
    pub fn new(preset: Preset, catalogue: &Catalogue) -> Self {
        let settings = preset.settings();
        let bonds = Bonds::new(preset, catalogue);
        let sources = sources(&settings, catalogue);
        let mut shares = Vec::new();
        let mut populations = Vec::new();
        for sex in [Some(0), Some(1), None] {
            for band in settings.bands.iter().map(Some).chain([None]) {
                shares.push(share(sex, band));
                populations.push(population(&settings, catalogue, &bonds, &sources, sex, band));
            }
        }
        let outcomes = settings
            .outcomes
            .iter()
            .filter_map(|outcome| Some((catalogue.code(outcome.name)?, outcome.rate)))
            .collect();
        let steps: Vec<f64> = (0..COMPANIONS).map(|index| 1.0 / (index as f64 + 6.0)).collect();
        Self {
            bonds,
            shares: Table::new(&shares),
            populations,
            further_visits: Table::counts(settings.further_visits),
            diseases: diseases(catalogue),
            companion_count: Table::counts(settings.companions),
            companion: Table::new(&steps),
            unrelated_count: Table::counts(settings.unrelated),
            unrelated: sources.iter().map(|source| source.code).collect(),
            categories: sources.iter().map(|source| source.category).collect(),
            outcomes,
            settings,
        }
    }
}

/// A code that comes by itself.
struct Source {
    code: Code,
    category: Option<Code>,
    rate: f64,
    profile: Profile,
    women: f64,
}

fn sources(settings: &Settings, catalogue: &Catalogue) -> Vec<Source> {
    let notable = NOTABLE.iter().filter_map(|notable| {
        let rate = notable.rates[settings.column];
        let code = catalogue.code(notable.name)?;
        (rate > 0.0).then_some(Source {
            code,
            category: None,
            rate,
            profile: notable.profile,
            women: 1.0,
        })
    });
    let step = |rank: usize| 1.0 / (rank as f64 + HEAD);
    let sum: f64 = (0..catalogue.ordinary.len()).map(step).sum();
    let ordinary = catalogue.ordinary.iter().enumerate().map(|(rank, ordinary)| Source {
        code: ordinary.code,
        category: ordinary.category,
        rate: settings.ordinary * step(rank) / sum,
        profile: ordinary.chapter.profile,
        women: ordinary.chapter.women,
    });
    notable.chain(ordinary).collect()
}

fn share(sex: Option<usize>, band: Option<&Band>) -> f64 {
    let of_sex = sex.map_or(UNKNOWN_SEX, |_| (1.0 - UNKNOWN_SEX) / 2.0);
    let of_age = band.map_or(UNKNOWN_AGE, |band| (1.0 - UNKNOWN_AGE) * band.share);
    of_sex * of_age
}

/// How much more often something comes in a sex, by how much more often it comes in women.
fn by_sex(sex: Option<usize>, women: f64) -> f64 {
    match sex {
        Some(0) => women,
        Some(_) => 2.0 - women,
        None => 1.0,
    }
}

fn population(
    settings: &Settings,
    catalogue: &Catalogue,
    bonds: &Bonds,
    sources: &[Source],
    sex: Option<usize>,
    band: Option<&Band>,
) -> Population {
    let stage = band.map(|band| band.stage);
    let names = sex.and_then(|sex| SEXES.get(sex)).map(|(name, _)| *name);
    let codes: Vec<Code> = names
        .into_iter()
        .chain(band.map(|band| band.name))
        .filter_map(|name| catalogue.code(name))
        .collect();
    let bits = codes.iter().fold(0, |bits, &code| bits | demographic_bit(code));
    let unrelated: Vec<f64> = sources
        .iter()
        .map(|source| {
            let barred = bonds.of(source.code).is_some_and(|bond| bond.barred & bits != 0);
            let factor = source.profile.factor(stage) * by_sex(sex, source.women);
            if barred { 0.0 } else { source.rate * factor }
        })
        .collect();
    let clusters: Vec<f64> = CLUSTERS
        .iter()
        .map(|cluster| cluster.weight * cluster.profile.factor(stage) * by_sex(sex, cluster.women))
        .collect();
    let known: Vec<f64> = settings.bands.iter().map(|band| band.death).collect();
    let mean_death = known.iter().sum::<f64>() / known.len() as f64;
    // Half of the way from no effect of age to that of the diseases of old age.
    let burden = 0.5 + 0.5 * Profile::Old.factor(stage);
    let mean = settings.clusters.mean * burden;
    Population {
        codes,
        bits,
        death: band.map_or(mean_death, |band| band.death),
        cluster_count: Table::counts(Spread { mean, ..settings.clusters }),
        clusters: Table::new(&clusters),
        unrelated: Table::new(&unrelated),
    }
}

/// The clusters' codes. Clusters of one chapter take different codes of it.
fn diseases(catalogue: &Catalogue) -> Vec<Disease> {
    let companions = |number: usize| {
        let chapter = CLUSTERS[number].chapter;
        let before = CLUSTERS[..number].iter().filter(|other| other.chapter == chapter).count();
        let below =
            |ordinary: &&Ordinary| ordinary.chapter.name == chapter && ordinary.category.is_some();
        let of_chapter = catalogue.ordinary.iter().filter(below);
        of_chapter.skip(before).step_by(3).take(COMPANIONS).map(|ordinary| ordinary.code).collect()
    };
    (0..CLUSTERS.len())
        .map(|number| Disease {
            cores: CLUSTERS[number].cores.iter().filter_map(|core| catalogue.code(core)).collect(),
            companions: companions(number),
        })
        .collect()
}
