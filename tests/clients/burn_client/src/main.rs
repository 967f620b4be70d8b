//! A small text-line recogniser trained by Burn's own learner, on one of two CPU backends.
//!
//!     burn_client --backend ndarray|candle --batch 16 --workers 1 --folder DIR
//!
//! Strided convolutions (Candle has no max-pooling that can be trained), then one class for each
//! column. What it prints is what burn-train prints without its terminal interface.

use burn::backend::{Autodiff, Candle, NdArray};
use burn::data::dataloader::batcher::Batcher;
use burn::data::dataloader::DataLoaderBuilder;
use burn::data::dataset::Dataset;
use burn::nn::conv::{Conv2d, Conv2dConfig};
use burn::nn::loss::CrossEntropyLossConfig;
use burn::nn::{BatchNorm, BatchNormConfig, Linear, LinearConfig, PaddingConfig2d, Relu};
use burn::optim::AdamWConfig;
use burn::prelude::*;
use burn::tensor::backend::AutodiffBackend;
use burn::tensor::{Distribution, TensorData};
use burn::train::{
    ClassificationOutput, LearnerBuilder, LearningStrategy, TrainOutput, TrainStep, ValidStep,
};

const HEIGHT: usize = 32;
const WIDTH: usize = 128;
const CLASSES: usize = 11;
const STAGES: usize = 3; // each halves height and width
const COLUMNS: usize = WIDTH >> STAGES;
const FEATURES: usize = CHANNELS[STAGES] * (HEIGHT >> STAGES);
const CHANNELS: [usize; STAGES + 1] = [3, 16, 32, 64];

#[derive(Module, Debug)]
struct Recogniser<B: Backend> {
    convolutions: Vec<Conv2d<B>>,
    norms: Vec<BatchNorm<B>>,
    head: Linear<B>,
}

impl<B: Backend> Recogniser<B> {
    fn new(device: &B::Device) -> Self {
        let convolution = |stage: usize| {
            Conv2dConfig::new([CHANNELS[stage], CHANNELS[stage + 1]], [3, 3])
                .with_stride([2, 2])
                .with_padding(PaddingConfig2d::Explicit(1, 1))
                .with_bias(false)
                .init(device)
        };
        Self {
            convolutions: (0..STAGES).map(convolution).collect(),
            norms: (0..STAGES).map(|s| BatchNormConfig::new(CHANNELS[s + 1]).init(device)).collect(),
            head: LinearConfig::new(FEATURES, CLASSES).init(device),
        }
    }

    // [N, 3, HEIGHT, WIDTH] to [N * COLUMNS, CLASSES].
    fn forward(&self, images: Tensor<B, 4>) -> Tensor<B, 2> {
        let samples = images.dims()[0];
        let mut features = images;
        for stage in 0..STAGES {
            features = self.convolutions[stage].forward(features);
            features = Relu::new().forward(self.norms[stage].forward(features));
        }
        let columns = features.reshape([samples, FEATURES, COLUMNS]).swap_dims(1, 2);
        self.head.forward(columns.reshape([samples * COLUMNS, FEATURES]))
    }

    fn judge(&self, lines: Lines<B>) -> ClassificationOutput<B> {
        let output = self.forward(lines.images);
        let loss = CrossEntropyLossConfig::new()
            .init(&output.device())
            .forward(output.clone(), lines.classes.clone());
        ClassificationOutput::new(loss, output, lines.classes)
    }
}

impl<B: AutodiffBackend> TrainStep<Lines<B>, ClassificationOutput<B>> for Recogniser<B> {
    fn step(&self, lines: Lines<B>) -> TrainOutput<ClassificationOutput<B>> {
        let judged = self.judge(lines);
        TrainOutput::new(self, judged.loss.backward(), judged)
    }
}

impl<B: Backend> ValidStep<Lines<B>, ClassificationOutput<B>> for Recogniser<B> {
    fn step(&self, lines: Lines<B>) -> ClassificationOutput<B> {
        self.judge(lines)
    }
}

#[derive(Clone, Debug)]
struct Lines<B: Backend> {
    images: Tensor<B, 4>,
    classes: Tensor<B, 1, Int>,
}

/// Numbered lines: their pixels are drawn when a batch is made.
struct Numbers(usize);

impl Dataset<usize> for Numbers {
    fn get(&self, index: usize) -> Option<usize> {
        (index < self.0).then_some(index)
    }
    fn len(&self) -> usize {
        self.0
    }
}

#[derive(Clone)]
struct Painter;

impl<B: Backend> Batcher<B, usize, Lines<B>> for Painter {
    fn batch(&self, items: Vec<usize>, device: &B::Device) -> Lines<B> {
        let shape = [items.len(), 3, HEIGHT, WIDTH];
        let classes: Vec<i64> = items
            .iter()
            .flat_map(|item| (0..COLUMNS).map(move |column| ((item + column) % CLASSES) as i64))
            .collect();
        let count = classes.len();
        Lines {
            images: Tensor::random(shape, Distribution::Uniform(-1.0, 1.0), device),
            classes: Tensor::from_data(TensorData::new(classes, [count]), device),
        }
    }
}

fn train<B: AutodiffBackend>(batch: usize, workers: usize, folder: &str) {
    let device = B::Device::default();
    let lines = DataLoaderBuilder::new(Painter)
        .batch_size(batch)
        .num_workers(workers)
        .shuffle(1)
        .build(Numbers(4096));
    let held_out = DataLoaderBuilder::new(Painter).batch_size(batch).build(Numbers(64));
    LearnerBuilder::new(folder)
        .learning_strategy(LearningStrategy::SingleDevice(device.clone()))
        .num_epochs(1000)
        .build(Recogniser::<B>::new(&device), AdamWConfig::new().init(), 1e-3)
        .fit(lines, held_out);
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let flag = |name: &str, usual: &str| {
        let at = words.iter().position(|word| word == name);
        at.and_then(|at| words.get(at + 1)).map_or(usual.to_string(), String::clone)
    };
    let number = |name: &str, usual: &str| flag(name, usual).parse().expect(name);
    let (batch, workers) = (number("--batch", "16"), number("--workers", "0"));
    let folder = flag("--folder", "/tmp/burn_client");
    match flag("--backend", "ndarray").as_str() {
        "ndarray" => train::<Autodiff<NdArray>>(batch, workers, &folder),
        "candle" => train::<Autodiff<Candle>>(batch, workers, &folder),
        other => {
            eprintln!("no backend {other}: ndarray or candle");
            std::process::exit(2);
        }
    }
}
