//! `random`: any endpoint, each as likely as the others.

use std::sync::Arc;

use rpc_core::{
    BoxError, Settings,
    loadbalancer::{Endpoints, LoadBalancer, PickContext, Picker},
    register,
};
use serde::Deserialize;

/// Chooses at random, whatever the weight: each endpoint that admits the call is as likely as any other that does.
///
/// It shares nothing between calls, so that many threads do not get in each other's way.
#[derive(Clone, Copy, Debug, Default)]
pub struct Random;

impl Random {
    /// The key it is registered under. It has no settings.
    pub const KEY: &'static str = "random";
}

register!(dyn LoadBalancer, Random::KEY, build);

impl LoadBalancer for Random {
    fn prepare(&self, endpoints: &Arc<Endpoints>) -> Box<dyn Picker> {
        Box::new(Draw { len: endpoints.len() })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {}

fn build(settings: &Settings) -> Result<Arc<Random>, BoxError> {
    let Config {} = settings.parse()?;
    Ok(Arc::new(Random))
}

/// The draws from one list.
struct Draw {
    len: usize,
}

impl Picker for Draw {
    fn pick(&self, cx: &PickContext<'_>) -> Option<usize> {
        if self.len == 0 {
            return None;
        }
        let first = fastrand::usize(..self.len);
        if cx.admits(first) {
            return Some(first);
        }
        // Walking on from there would favour whoever comes after those that do not admit the call. All others are asked
        // instead, and the nth that admits it takes the place of the one before with a chance of 1/n, which makes them
        // equally likely (reservoir sampling, algorithm R with room for one; Vitter 1985).
        let others = (0..self.len).filter(|position| *position != first && cx.admits(*position));
        others.zip(1..).filter(|(_, nth)| fastrand::usize(..*nth) == 0).last().map(|(position, _)| position)
    }
}

#[cfg(test)]
mod tests {
    use rpc_core::ServiceInstance;

    use super::*;

    /// How often each of 5 endpoints is chosen in 100,000 picks, when only some admit the calls.
    fn counts(admitted: &[usize]) -> [usize; 5] {
        fastrand::seed(7);
        let instances = (0..5).map(|host| ServiceInstance::new("users", format!("host{host}:1")).with_weight(1 + host));
        let picker = Random.prepare(&Arc::new(Endpoints::from_instances(instances)));
        let admits = |position| admitted.contains(&position);
        let mut counts = [0; 5];
        for _ in 0..100_000 {
            counts[picker.pick(&PickContext::new(None, &admits)).unwrap()] += 1;
        }
        counts
    }

    #[test]
    fn endpoints_that_admit_the_call_are_equally_likely() {
        for admitted in [&[0, 1, 2, 3, 4][..], &[0, 1, 3, 4], &[1, 2, 4], &[0, 4], &[3]] {
            let share = 1.0 / admitted.len() as f64;
            // Five standard deviations of the binomial distribution.
            let tolerance = 5.0 * (100_000.0 * share * (1.0 - share)).sqrt();
            for (position, count) in counts(admitted).into_iter().enumerate() {
                let expected = if admitted.contains(&position) { 100_000.0 * share } else { 0.0 };
                let off = (count as f64 - expected).abs();
                assert!(off <= tolerance, "{position} of {admitted:?}: {count} is {off} from {expected}");
            }
        }
    }
}
