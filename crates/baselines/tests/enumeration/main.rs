//! Every method against the enumeration of all visits, on small random worlds.

mod circuit;
mod diagram;
mod layer;
mod mixture;
mod published;
mod rules;
mod semantic;
mod worlds;
