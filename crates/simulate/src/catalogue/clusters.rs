//! Diseases that come together.

use super::profile::Profile::{self, Adult, Flat, Old, Young};

/// A cluster: chronic diseases at its core, and what they bring from one chapter.
pub struct Cluster {
    /// The chronic diseases at the core.
    pub cores: [&'static str; 2],
    /// The chapter whose codes become more frequent.
    pub chapter: &'static str,
    /// How common the cluster is, relative to the others.
    pub weight: f64,
    /// At which age.
    pub profile: Profile,
    /// How much more often in women; in men it is as much less often.
    pub women: f64,
}

const fn cluster(
    cores: [&'static str; 2],
    chapter: &'static str,
    weight: f64,
    profile: Profile,
    women: f64,
) -> Cluster {
    Cluster { cores, chapter, weight, profile, women }
}

/// All clusters.
#[rustfmt::skip]
pub const CLUSTERS: [Cluster; 17] = [
    cluster(["DX//circulatory//hypertension", "DX//circulatory//coronary-disease"], "circulatory", 3.0, Old, 0.9),
    cluster(["DX//circulatory//heart-failure", "DX//circulatory//atrial-fibrillation"], "circulatory", 2.0, Old, 0.9),
    cluster(["DX//endocrine//type-2-diabetes", "DX//endocrine//high-cholesterol"], "endocrine", 2.5, Old, 1.0),
    cluster(["DX//genitourinary//chronic-kidney-disease", "DX//blood//anemia-of-kidney-disease"], "genitourinary", 1.2, Old, 1.0),
    cluster(["DX//respiratory//copd", "DX//mental//tobacco-dependence"], "respiratory", 1.5, Old, 0.9),
    cluster(["DX//respiratory//asthma", "DX//respiratory//allergic-rhinitis"], "ear", 1.5, Young, 1.1),
    cluster(["DX//mental//depression", "DX//mental//anxiety"], "mental", 1.8, Adult, 1.3),
    cluster(["DX//mental//alcohol-dependence", "DX//mental//opioid-dependence"], "injury", 1.0, Adult, 0.7),
    cluster(["DX//mental//dementia", "DX//nervous//gait-disorder"], "nervous", 1.0, Old, 1.1),
    cluster(["DX//neoplasms//active-treatment", "DX//blood//low-white-cells"], "neoplasms", 1.2, Old, 1.0),
    cluster(["DX//digestive//cirrhosis", "DX//infectious//viral-hepatitis"], "digestive", 1.0, Adult, 0.8),
    cluster(["DX//musculoskeletal//osteoarthritis", "DX//musculoskeletal//back-pain"], "musculoskeletal", 1.5, Old, 1.1),
    cluster(["DX//endocrine//hypothyroidism", "DX//musculoskeletal//osteoporosis"], "blood", 1.0, Old, 1.5),
    cluster(["DX//nervous//epilepsy", "DX//nervous//migraine"], "nervous", 0.8, Flat, 1.2),
    cluster(["DX//musculoskeletal//rheumatoid-arthritis", "DX//skin//psoriasis"], "infectious", 0.8, Adult, 1.2),
    cluster(["DX//eye//glaucoma", "DX//eye//cataract"], "eye", 0.8, Old, 1.0),
    cluster(["DX//skin//eczema", "DX//mental//attention-deficit"], "skin", 1.0, Young, 0.9),
];
