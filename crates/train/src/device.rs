//! Where a network trains.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use consequence_engine::cuda::{Gpu, GpuError, Precision, WIDEST_HEAD};
use consequence_model::{HaloSizes, NetworkSizes};
use thiserror::Error;

use crate::on_gpu::WIDE_HEADS;
use crate::{Teacher, TrainError};

/// Where a network is to train.
///
/// ```
/// use consequence_train::DeviceChoice;
///
/// assert_eq!("cuda:1".parse(), Ok(DeviceChoice::Cuda(1)));
/// assert_eq!(DeviceChoice::Auto.to_string(), "auto");
/// assert!("tpu".parse::<DeviceChoice>().is_err());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceChoice {
    /// On the first GPU, if there is one that can be used, and else on the CPU.
    #[default]
    Auto,
    /// On the CPU.
    Cpu,
    /// On a CUDA GPU, counted from 0.
    Cuda(usize),
}

/// No device has this name.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("no device is called `{0}`; there are auto, cpu and cuda:0, cuda:1 and so on")]
pub struct UnknownDevice(String);

impl FromStr for DeviceChoice {
    type Err = UnknownDevice;

    fn from_str(name: &str) -> Result<Self, UnknownDevice> {
        let number = |name: &str| name.strip_prefix("cuda:").and_then(|number| number.parse().ok());
        match name {
            "auto" => Ok(Self::Auto),
            "cpu" => Ok(Self::Cpu),
            "cuda" => Ok(Self::Cuda(0)),
            _ => number(name).map(Self::Cuda).ok_or_else(|| UnknownDevice(name.to_owned())),
        }
    }
}

impl Display for DeviceChoice {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => out.write_str("auto"),
            Self::Cpu => out.write_str("cpu"),
            Self::Cuda(number) => write!(out, "cuda:{number}"),
        }
    }
}

/// Where a network trains.
#[derive(Debug)]
pub enum Device {
    /// On the CPU.
    Cpu,
    /// On a GPU.
    Gpu(Box<Gpu>),
}

/// GPUs, and why they were chosen.
#[derive(Debug)]
pub struct ChosenGpus {
    /// The GPUs; none: the CPU.
    pub gpus: Vec<Gpu>,
    /// What they are, or why it is the CPU, in a few words.
    pub why: String,
    /// GPUs that are there and are not among them, each with a word why.
    pub left_out: Vec<String>,
}

/// A device, and why it was chosen.
#[derive(Debug)]
pub struct Chosen {
    /// The device.
    pub device: Device,
    /// What it is, and why, in a few words.
    pub why: String,
}

impl DeviceChoice {
    /// Finds the device for a network of these sizes and a teacher. One that was named must be there, and
    /// able to.
    pub fn find(
        self,
        precision: Precision,
        sizes: &NetworkSizes,
        teacher: &Teacher<'_>,
    ) -> Result<Chosen, TrainError> {
        let cpu = |why: String| Chosen { device: Device::Cpu, why };
        if self == Self::Cpu {
            return Ok(cpu("the CPU, as asked".into()));
        }
        let able = match (sizes, teacher) {
            (NetworkSizes::Halo(HaloSizes { width, heads, .. }), _)
                if width / heads.max(&1) > WIDEST_HEAD =>
            {
                Err(TrainError::NotOnGpu(WIDE_HEADS))
            }
            _ => Ok(()),
        };
        let number = if let Self::Cuda(number) = self { number } else { 0 };
        let opened = able.and_then(|()| Ok(Gpu::open(number, precision)?));
        match (opened, self) {
            (Ok(gpu), _) => {
                let mut why = told(number, &gpu);
                if precision == Precision::Full {
                    why.push_str(IN_32_BITS);
                }
                Ok(Chosen { device: Device::Gpu(Box::new(gpu)), why })
            }
            // What is wrong with a GPU that is there is told; that there is none needs no word.
            (Err(TrainError::Gpu(GpuError::NoDriver | GpuError::NoGpu)), Self::Auto) => {
                Ok(cpu("the CPU: no GPU was found".into()))
            }
            (Err(error), Self::Auto) => Ok(cpu(format!("the CPU: {error}"))),
            (Err(error), _) => Err(error),
        }
    }

    /// The GPU that a network trained on, found again for records that it writes: nearly all of these are what the CPU writes.
    /// None if it cannot be used any more.
    pub fn find_again(self) -> Option<Gpu> {
        let number = if let Self::Cuda(number) = self { number } else { 0 };
        Gpu::open(number, Precision::Full).ok()
    }

    /// Finds the devices for work that can be shared out: all GPUs that there are, or the one that was named, which
    /// must be there. Where they multiply in 32 bits, what is drawn by them is nearly always what the CPU draws.
    pub fn find_all(self, precision: Precision) -> Result<ChosenGpus, GpuError> {
        let cpu = |why: String| ChosenGpus { gpus: Vec::new(), why, left_out: Vec::new() };
        let (first, others) = match self {
            Self::Cpu => return Ok(cpu("the CPU, as asked".into())),
            Self::Cuda(number) => (Gpu::open(number, precision)?, 0),
            Self::Auto => match Gpu::open(0, precision) {
                Ok(gpu) => (gpu, Gpu::count()?.saturating_sub(1)),
                Err(GpuError::NoDriver | GpuError::NoGpu) => {
                    return Ok(cpu("the CPU: no GPU was found".into()));
                }
                Err(error) => return Ok(cpu(format!("the CPU: {error}"))),
            },
        };
        let number = if let Self::Cuda(number) = self { number } else { 0 };
        let mut why = told(number, &first);
        let (mut gpus, mut left_out) = (vec![first], Vec::new());
        for number in 1..=others {
            match Gpu::open(number, precision) {
                // Records are not to depend on which of them was free first.
                Ok(gpu) if gpu.name() != gpus[0].name() => left_out.push(format!(
                    "GPU {number} ({}) is of another kind than the first",
                    gpu.name()
                )),
                Ok(gpu) => gpus.push(gpu),
                Err(error) => left_out.push(format!("GPU {number} cannot be used: {error}")),
            }
        }
        if gpus.len() > 1 {
            why = format!("{} GPUs, the first of them {why}", gpus.len());
        }
        if precision == Precision::Fast {
            why.push_str(IN_10_BITS);
        }
        Ok(ChosenGpus { gpus, why, left_out })
    }
}

/// What is told of products that are not as they usually are.
const IN_32_BITS: &str = ", products in 32 bits";
const IN_10_BITS: &str = ", factors of products in 10 bits";

fn told(number: usize, gpu: &Gpu) -> String {
    let memory = gpu.memory() as f64 / f64::from(1 << 30);
    format!("GPU {number}: {}, {memory:.0} GB", gpu.name())
}
