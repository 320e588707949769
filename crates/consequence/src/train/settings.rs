//! What may be set of a network and of its training, as faces are given it.

use consequence_model::NetworkSizes;
use consequence_pipeline::Error;
use consequence_train::{NetworkKind, Preset, Size, TrainMode, TrainOptions};

use super::{ModelChoice, NetworkTask};

/// What may be set of a network and of its training; what is not set is that of its size.
///
/// ```
/// use consequence::train::{ModelChoice, NetworkSettings, Size};
///
/// let settings = NetworkSettings { epochs: Some(3), width: Some(40), ..NetworkSettings::default() };
/// let task = settings.task(Size::Tiny, 7)?;
/// assert_eq!((task.options.epochs, task.options.seed), (3, 7));
///
/// let refused = NetworkSettings { heads: Some(2), ..settings.clone() }.task(Size::Tiny, 7);
/// let refused = refused.unwrap_err().to_string();
/// assert_eq!(refused, "heads means nothing for the recurrent network");
/// assert!(ModelChoice::markov(&settings, None).is_err(), "counts have no width");
/// # Ok::<(), consequence::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NetworkSettings {
    /// Which network; none: the one that has the size.
    pub network: Option<NetworkKind>,
    /// Its size.
    pub size: Option<Size>,
    /// The most times that it sees each record.
    pub epochs: Option<u32>,
    /// Visits of a step.
    pub batch: Option<usize>,
    /// The highest learning rate.
    pub rate: Option<f32>,
    /// Epochs without a gain before it stops.
    pub patience: Option<u32>,
    /// The weight decay.
    pub decay: Option<f32>,
    /// The width of its state.
    pub width: Option<usize>,
    /// The width of the recurrent network's head.
    pub head_width: Option<usize>,
    /// Hidden units for each code in the head of HALO's network.
    pub head_units: Option<usize>,
    /// Blocks of HALO's network.
    pub layers: Option<usize>,
    /// Attention heads of HALO's network.
    pub heads: Option<usize>,
    /// The part that dropout takes out of HALO's network.
    pub dropout: Option<f32>,
}

impl NetworkSettings {
    /// A network to be trained, of the usual size unless another is set.
    pub fn task(&self, usual: Size, seed: u64) -> Result<NetworkTask, Error> {
        self.check()?;
        let mut task = NetworkTask::of(self.preset(usual)?);
        let (sizes, options) = (&mut task.sizes, &mut task.options);
        options.seed = seed;
        let set = |given: Option<usize>, setting: &mut usize| *setting = given.unwrap_or(*setting);
        match sizes {
            NetworkSizes::Recurrent(sizes) => {
                let advice = "leave it out, or choose {network=halo}";
                refuse_foreign("recurrent", &self.of_halo(), advice)?;
                set(self.head_width, &mut sizes.head);
                set(self.width, &mut sizes.width);
            }
            NetworkSizes::Halo(sizes) => {
                let foreign = [(self.head_width.is_some(), "head_width")];
                refuse_foreign("halo", &foreign, "leave it out, or choose {network=recurrent}")?;
                set(self.width, &mut sizes.width);
                set(self.layers, &mut sizes.layers);
                set(self.heads, &mut sizes.heads);
                set(self.head_units, &mut sizes.head_units);
            }
        }
        self.set_length(options);
        options.rate = self.rate.unwrap_or(options.rate);
        options.decay = self.decay.unwrap_or(options.decay);
        options.dropout = self.dropout.unwrap_or(options.dropout);
        Ok(task)
    }

    /// HALO's network of the same size, trained beside this one with its own settings.
    pub fn halo_beside(&self, usual: Size) -> Result<NetworkTask, Error> {
        let preset = Preset::new(NetworkKind::Halo, self.size.unwrap_or(usual))
            .map_err(|error| Error::refused(error.to_string(), "choose {size=small}"))?;
        let mut task = NetworkTask::of(preset);
        self.set_length(&mut task.options);
        Ok(task)
    }

    /// Refuses numbers that make no sense.
    fn check(&self) -> Result<(), Error> {
        let positive = [
            (self.epochs.map(|count| count as usize), "epochs"),
            (self.batch, "batch"),
            (self.patience.map(|count| count as usize), "patience"),
            (self.width, "width"),
            (self.head_width, "head_width"),
            (self.head_units, "head_units"),
            (self.layers, "layers"),
            (self.heads, "heads"),
        ];
        if let Some((_, name)) = positive.iter().find(|(given, _)| *given == Some(0)) {
            let what = format!("{} has to be at least 1", words(name));
            return Err(Error::refused(what, "give a larger number, or leave it out"));
        }
        let numbers = [
            (self.rate, "rate", f32::MIN_POSITIVE..f32::INFINITY, "give {rate=0.001}"),
            (self.decay, "decay", 0.0..100.000_01, "give a number from 0 to 100"),
            (self.dropout, "dropout", 0.0..1.0, "give a number from 0 to less than 1"),
        ];
        for (given, name, range, advice) in numbers {
            if let Some(given) = given.filter(|given| !range.contains(given)) {
                return Err(Error::refused(format!("{name} cannot be {given}"), advice));
            }
        }
        Ok(())
    }

    fn set_length(&self, options: &mut TrainOptions) {
        options.batch = self.batch;
        options.epochs = self.epochs.unwrap_or(options.epochs);
        options.patience = self.patience.unwrap_or(options.patience);
    }

    fn preset(&self, usual: Size) -> Result<Preset, Error> {
        let size = self.size.unwrap_or(usual);
        let kind = match (self.network, size) {
            (Some(kind), _) => kind,
            (None, Size::Paper) => NetworkKind::Halo,
            (None, _) => NetworkKind::Recurrent,
        };
        Preset::new(kind, size).map_err(|error| {
            let advice = match size {
                Size::Paper => "the published size is that of {network=halo}",
                _ => "choose {size=small}",
            };
            Error::refused(error.to_string(), advice)
        })
    }

    fn of_halo(&self) -> [(bool, &'static str); 4] {
        [
            (self.head_units.is_some(), "head_units"),
            (self.layers.is_some(), "layers"),
            (self.heads.is_some(), "heads"),
            (self.dropout.is_some(), "dropout"),
        ]
    }

    fn first_given(&self) -> Option<&'static str> {
        let given = [
            (self.network.is_some(), "network"),
            (self.size.is_some(), "size"),
            (self.epochs.is_some(), "epochs"),
            (self.batch.is_some(), "batch"),
            (self.rate.is_some(), "rate"),
            (self.patience.is_some(), "patience"),
            (self.decay.is_some(), "decay"),
            (self.width.is_some(), "width"),
            (self.head_width.is_some(), "head_width"),
        ];
        let mut all = given.into_iter().chain(self.of_halo());
        all.find(|(given, _)| *given).map(|(_, name)| name)
    }
}

impl ModelChoice {
    /// A network with these settings, and the way that rules take part in training it.
    pub fn network(
        settings: &NetworkSettings,
        mode: Option<TrainMode>,
        seed: u64,
    ) -> Result<Self, Error> {
        let mut task = settings.task(Size::default(), seed)?;
        task.mode = mode.unwrap_or_default();
        Ok(Self::Network(task))
    }

    /// Counts, which none of the settings of networks mean anything for.
    pub fn markov(settings: &NetworkSettings, mode: Option<TrainMode>) -> Result<Self, Error> {
        let mode = mode.map(|_| "train_mode");
        match mode.or_else(|| settings.first_given()) {
            Some(name) => Err(Error::refused(
                format!("{} is for networks, and a Markov model has none", words(name)),
                "leave it out, or choose {generator=network}",
            )),
            None => Ok(Self::Markov),
        }
    }
}

fn refuse_foreign(
    network: &str,
    settings: &[(bool, &str)],
    advice: &'static str,
) -> Result<(), Error> {
    match settings.iter().find(|(given, _)| *given) {
        Some((_, name)) => {
            let what = format!("{} means nothing for the {network} network", words(name));
            Err(Error::refused(what, advice))
        }
        None => Ok(()),
    }
}

/// A setting in words that are those of no face.
fn words(name: &str) -> String {
    name.replace('_', " ")
}
