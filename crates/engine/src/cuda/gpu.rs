//! A GPU: its stream, its libraries, and how kernels are launched.

use std::ffi::c_void;
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;
use std::sync::Arc;

use cudarc::cublas::{CudaBlas, sys as blas};
use cudarc::driver::{CudaContext, CudaFunction, CudaStream, DriverError, result, sys as driver};
use cudarc::nvrtc::{CompileOptions, Ptx, compile_ptx_with_opts, sys as nvrtc};
use thiserror::Error;

use super::kept::compiled;
use super::memory::{Part, PartMut};

/// Why a GPU cannot be used, or could not go on.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum GpuError {
    /// There is no driver.
    #[error("no CUDA driver was found")]
    NoDriver,
    /// The driver knows of no GPU.
    #[error("the CUDA driver found no GPU")]
    NoGpu,
    /// There are fewer GPUs.
    #[error("there is no GPU {number}: GPUs are counted from 0, and {count} were found")]
    NoSuchGpu {
        /// The GPU asked for.
        number: usize,
        /// How many there are.
        count: usize,
    },
    /// A library is missing.
    #[error("CUDA's library {0} was not found")]
    NoLibrary(&'static str),
    /// Its memory is full.
    #[error("the GPU has not enough memory")]
    OutOfMemory,
    /// Anything else that CUDA says.
    #[error("CUDA failed: {0}")]
    Failed(String),
}

impl From<DriverError> for GpuError {
    fn from(error: DriverError) -> Self {
        match error.0 {
            driver::CUresult::CUDA_ERROR_OUT_OF_MEMORY => Self::OutOfMemory,
            driver::CUresult::CUDA_ERROR_NO_DEVICE => Self::NoGpu,
            code => Self::Failed(format!("{code:?}")),
        }
    }
}

impl From<cudarc::cublas::result::CublasError> for GpuError {
    fn from(error: cudarc::cublas::result::CublasError) -> Self {
        match error.0 {
            blas::cublasStatus_t::CUBLAS_STATUS_ALLOC_FAILED => Self::OutOfMemory,
            code => Self::Failed(format!("{code:?}")),
        }
    }
}

/// How products are computed.
///
/// ```
/// use consequence_engine::cuda::Precision;
///
/// assert_eq!("full".parse(), Ok(Precision::Full));
/// assert_eq!(Precision::Fast.to_string(), "fast");
/// assert!("half".parse::<Precision>().is_err());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// As on the CPU: in 32 bits.
    Full,
    /// Factors are rounded to 10 bits of fraction, and their products added up in 32 bits.
    #[default]
    Fast,
}

impl Precision {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Full, Self::Fast];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Fast => "fast",
        }
    }
}

impl Display for Precision {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// No precision has this name.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("no precision is called `{0}`; there are full and fast")]
pub struct UnknownPrecision(String);

impl FromStr for Precision {
    type Err = UnknownPrecision;

    fn from_str(name: &str) -> Result<Self, UnknownPrecision> {
        let found = Self::ALL.into_iter().find(|one| one.name() == name);
        found.ok_or_else(|| UnknownPrecision(name.to_owned()))
    }
}

macro_rules! kernels {
    ($($source:literal { $($name:ident),* $(,)? })*) => {
        /// Our kernels.
        #[allow(non_camel_case_types, reason = "they are called as in their source")]
        #[derive(Clone, Copy, Debug)]
        pub(super) enum Kernel { $($($name,)*)* }

        /// The source of each module, and the kernels that it has, all in the order of [`Kernel`].
        const MODULES: &[(&str, &[&str])] = &[$((
            concat!(include_str!("common.cuh"), include_str!($source)),
            &[$(stringify!($name)),*],
        )),*];
    };
}

kernels! {
    "kernels.cu" {
        places,
        add_gathered,
        scatter_rows,
        layer_norm,
        layer_norm_backward,
        column_sums,
        add_linear,
        add,
        gelu_linear,
        gelu_linear_backward,
        gated_average,
        gated_average_backward,
        states,
        states_backward,
        copies,
        copies_backward,
        settle,
        read_logits,
        add_at,
        score,
        add_up,
        finish,
        adam,
    }
    "attention.cu" {
        attend_64,
        attend_step_64,
        attend_rows_64,
        attend_keys_64,
        attend_256,
        attend_step_256,
        attend_rows_256,
        attend_keys_256,
    }
    "triangular.cu" {
        take_rows,
        give_rows,
        fire_units,
        fire_units_backward,
        fire_sums,
        note_fired,
        scatter_units,
        empty_halves,
        score_visit,
        narrow_rows,
        widen_rows,
    }
    "outputs.cu" { own_logits, own_gradients }
    "walk.cu" { take_in, average_step, begin_visits, take_states, walk, hand_on, list_slots }
}

/// A GPU that work can be queued on.
#[derive(Debug)]
pub struct Gpu {
    context: Arc<CudaContext>,
    pub(super) stream: Arc<CudaStream>,
    blas: CudaBlas,
    functions: Vec<CudaFunction>,
    precision: Precision,
    name: String,
    memory: usize,
}

impl Gpu {
    /// Opens a GPU, counted from 0.
    pub fn open(number: usize, precision: Precision) -> Result<Self, GpuError> {
        // SAFETY: these look for libraries, and run nothing of them but how they begin.
        #[allow(unsafe_code)]
        let [has_driver, has_blas, has_nvrtc] = unsafe {
            [driver::is_culib_present(), blas::is_culib_present(), nvrtc::is_culib_present()]
        };
        if !has_driver {
            return Err(GpuError::NoDriver);
        }
        result::init()?;
        let count = CudaContext::device_count()? as usize;
        if count == 0 {
            return Err(GpuError::NoGpu);
        }
        if number >= count {
            return Err(GpuError::NoSuchGpu { number, count });
        }
        for (is_there, name) in [(has_blas, "cuBLAS"), (has_nvrtc, "NVRTC")] {
            if !is_there {
                return Err(GpuError::NoLibrary(name));
            }
        }
        let context = CudaContext::new(number)?;
        // SAFETY: everything is queued on one stream, in order.
        #[allow(unsafe_code)]
        unsafe {
            context.disable_event_tracking();
        }
        let stream = context.new_stream()?;
        let (major, minor) = context.compute_capability()?;
        let target = format!("-arch=compute_{major}{minor}");
        // Another compiler may make something else of a source.
        let made_by = format!("{target}, NVRTC {}", compiler()?);
        let mut functions = Vec::new();
        for (source, names) in MODULES {
            let compile = || {
                let options = vec![target.clone()];
                let options = CompileOptions { options, ..CompileOptions::default() };
                compile_ptx_with_opts(source, options).map(|compiled| compiled.to_src())
            };
            let compiled = compiled(&made_by, source, compile)
                .map_err(|error| GpuError::Failed(error.to_string()))?;
            let module = context.load_module(Ptx::from_src(compiled))?;
            for name in *names {
                functions.push(module.load_function(name)?);
            }
        }
        let blas = CudaBlas::new(Arc::clone(&stream))?;
        let (name, memory) = (context.name()?, context.total_mem()?);
        Ok(Self { context, stream, blas, functions, precision, name, memory })
    }

    /// How many there are.
    pub fn count() -> Result<usize, GpuError> {
        Ok(CudaContext::device_count()? as usize)
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Bytes of its memory.
    pub fn memory(&self) -> usize {
        self.memory
    }

    /// How it multiplies.
    pub fn precision(&self) -> Precision {
        self.precision
    }

    pub(super) fn context(&self) -> &Arc<CudaContext> {
        &self.context
    }

    /// Lets this thread queue work.
    pub fn bind(&self) -> Result<(), GpuError> {
        Ok(self.context.bind_to_thread()?)
    }

    /// Waits until all that was queued is done.
    pub fn wait(&self) -> Result<(), GpuError> {
        Ok(self.stream.synchronize()?)
    }

    /// Queues a kernel. Nothing is done for a grid without blocks.
    pub(super) fn launch(
        &self,
        kernel: Kernel,
        (blocks, threads): ([usize; 2], [usize; 2]),
        arguments: &[Argument],
    ) -> Result<(), GpuError> {
        if blocks.contains(&0) {
            return Ok(());
        }
        let mut pointers = [std::ptr::null_mut::<c_void>(); MOST_ARGUMENTS];
        for (pointer, argument) in pointers.iter_mut().zip(arguments) {
            *pointer = std::ptr::from_ref(argument).cast_mut().cast();
        }
        let [across, down] = blocks.map(|count| count as u32);
        let [wide, high] = threads.map(|count| count as u32);
        let function = &self.functions[kernel as usize];
        // SAFETY: each call is beside a check that the parts of memory are as large as the kernel takes
        // them to be, and its arguments are those of the kernel's source, each in eight bytes.
        #[allow(unsafe_code)]
        unsafe {
            result::launch_kernel(
                function.cu_function(),
                (across, down, 1),
                (wide, high, 1),
                0,
                self.stream.cu_stream(),
                &mut pointers[..arguments.len()],
            )?;
        }
        Ok(())
    }

    /// `to = a * b`, or added to what `to` has.
    ///
    /// # Panics
    ///
    /// If the sizes do not fit.
    pub fn product(
        &self,
        to: PartMut<'_>,
        a: Factor<'_>,
        b: Factor<'_>,
        keep: bool,
    ) -> Result<(), GpuError> {
        let columns = b.columns;
        self.product_within(to, columns, a, b, keep)
    }

    /// The same, where the rows of `to` are `stride` apart.
    ///
    /// # Panics
    ///
    /// If the sizes do not fit.
    pub fn product_within(
        &self,
        to: PartMut<'_>,
        stride: usize,
        a: Factor<'_>,
        b: Factor<'_>,
        keep: bool,
    ) -> Result<(), GpuError> {
        let (rows, inner, columns) = (a.rows, a.columns, b.columns);
        assert!(inner == b.rows && stride >= columns, "the sizes of a product fit");
        assert!(
            rows == 0 || to.len >= (rows - 1) * stride + columns,
            "there is room for a product"
        );
        if rows == 0 || columns == 0 || (inner == 0 && keep) {
            return Ok(());
        }
        let size = |size: usize| i32::try_from(size).unwrap_or_else(|_| panic!("sizes are small"));
        let turned = |factor: &Factor<'_>| match factor.turned {
            true => blas::cublasOperation_t::CUBLAS_OP_T,
            false => blas::cublasOperation_t::CUBLAS_OP_N,
        };
        let computed = match self.precision {
            Precision::Full => blas::cublasComputeType_t::CUBLAS_COMPUTE_32F,
            Precision::Fast => blas::cublasComputeType_t::CUBLAS_COMPUTE_32F_FAST_TF32,
        };
        let number = blas::cudaDataType_t::CUDA_R_32F;
        let (one, kept) = (1f32, if keep { 1f32 } else { 0.0 });
        // SAFETY: the factors and the result lie in memory of their sizes. cuBLAS counts by columns, so
        // that the factors change places.
        #[allow(unsafe_code)]
        let status = unsafe {
            blas::cublasGemmEx(
                *self.blas.handle(),
                turned(&b),
                turned(&a),
                size(columns),
                size(rows),
                size(inner),
                std::ptr::from_ref(&one).cast(),
                b.pointer as *const c_void,
                number,
                size(b.stride),
                a.pointer as *const c_void,
                number,
                size(a.stride),
                std::ptr::from_ref(&kept).cast(),
                to.pointer as *mut c_void,
                number,
                size(stride),
                computed,
                blas::cublasGemmAlgo_t::CUBLAS_GEMM_DEFAULT,
            )
        };
        Ok(status.result()?)
    }
}

/// The version of the compiler.
fn compiler() -> Result<String, GpuError> {
    let (mut major, mut minor) = (0, 0);
    // SAFETY: the library is there, and writes two numbers.
    #[allow(unsafe_code)]
    let status = unsafe { nvrtc::nvrtcVersion(&raw mut major, &raw mut minor) };
    match status {
        nvrtc::nvrtcResult::NVRTC_SUCCESS => Ok(format!("{major}.{minor}")),
        code => Err(GpuError::Failed(format!("{code:?}"))),
    }
}

/// A matrix as a factor of a product.
#[derive(Clone, Copy, Debug)]
pub struct Factor<'a> {
    pointer: u64,
    rows: usize,
    columns: usize,
    stride: usize,
    turned: bool,
    memory: std::marker::PhantomData<&'a f32>,
}

impl<'a> Factor<'a> {
    /// A matrix of so many rows and columns.
    ///
    /// # Panics
    ///
    /// If the part is smaller.
    pub fn new(part: Part<'a>, rows: usize, columns: usize) -> Self {
        Self::within(part, rows, columns, columns)
    }

    /// A matrix whose rows are `stride` apart.
    ///
    /// # Panics
    ///
    /// If the part is smaller.
    pub fn within(part: Part<'a>, rows: usize, columns: usize, stride: usize) -> Self {
        assert!(stride >= columns && (rows == 0 || part.len >= (rows - 1) * stride + columns));
        let pointer = part.pointer;
        Self { pointer, rows, columns, stride, turned: false, memory: std::marker::PhantomData }
    }

    /// Rows and columns exchanged.
    #[must_use]
    pub fn transposed(self) -> Self {
        Self { rows: self.columns, columns: self.rows, turned: !self.turned, ..self }
    }
}

/// Arguments of a kernel, at most.
const MOST_ARGUMENTS: usize = 24;

/// An argument of a kernel.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(8))]
pub(super) struct Argument([u8; 8]);

macro_rules! argument_of {
    ($($kind:ty),*) => {$(
        impl From<$kind> for Argument {
            fn from(value: $kind) -> Self {
                let mut bytes = [0; 8];
                bytes[..size_of::<$kind>()].copy_from_slice(&value.to_ne_bytes());
                Self(bytes)
            }
        }
    )*};
}

argument_of!(u32, i32, f32, u64, i64, f64);

impl<T> From<Part<'_, T>> for Argument {
    fn from(part: Part<'_, T>) -> Self {
        part.pointer.into()
    }
}

impl<T> From<PartMut<'_, T>> for Argument {
    fn from(part: PartMut<'_, T>) -> Self {
        part.pointer.into()
    }
}

/// The arguments of a kernel, in order.
macro_rules! arguments {
    ($($value:expr),* $(,)?) => {
        &[$($crate::cuda::gpu::Argument::from($value)),*]
    };
}

pub(super) use arguments;

/// A number as kernels count.
pub(super) fn int(number: usize) -> i32 {
    i32::try_from(number).unwrap_or_else(|_| panic!("a batch has fewer than 2^31 of anything"))
}

/// Blocks and threads, one thread for each of so many elements or for some of them.
pub(super) fn spread(count: usize) -> ([usize; 2], [usize; 2]) {
    ([count.div_ceil(256).min(2_048), 1], [256, 1])
}

/// Blocks and threads, a warp for each of so many rows.
pub(super) fn by_warps(rows: usize) -> ([usize; 2], [usize; 2]) {
    ([rows.div_ceil(8), 1], [256, 1])
}
