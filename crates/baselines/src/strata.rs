//! The order in which conclusions can be drawn: what a rule reads comes before what it concludes.

/// Codes so that antecedents come before what hangs on them, and the implications that are part of
/// a cycle, by number. Without those the order is right.
///
/// Implications are a conclusion and its antecedents.
pub(crate) fn strata<I>(
    codes: usize,
    implications: impl ExactSizeIterator<Item = (u32, I)>,
) -> (Vec<u32>, Vec<usize>)
where
    I: Iterator<Item = u32>,
{
    let mut edges: Vec<(u32, u32, usize)> = Vec::new();
    for (number, (head, body)) in implications.enumerate() {
        edges.extend(body.map(|code| (head, code, number)));
    }
    edges.sort_unstable();
    let group = groups(codes, &edges);
    let mut cycles: Vec<usize> = edges
        .iter()
        .filter(|(head, code, _)| group[*head as usize] == group[*code as usize])
        .map(|&(_, _, number)| number)
        .collect();
    cycles.sort_unstable();
    cycles.dedup();
    let mut order: Vec<u32> = (0..codes as u32).collect();
    order.sort_by_key(|&code| group[code as usize]);
    (order, cycles)
}

/// A number for each code: the same for codes that hang on each other, and smaller for those that
/// others hang on. (Tarjan's strongly connected components, with a stack of its own.)
fn groups(codes: usize, edges: &[(u32, u32, usize)]) -> Vec<u32> {
    const NEW: u32 = u32::MAX;
    let start = |code: u32| edges.partition_point(|&(head, _, _)| head < code);
    let (mut found, mut lowest, mut group) = (vec![NEW; codes], vec![NEW; codes], vec![NEW; codes]);
    let (mut clock, mut finished) = (0, 0);
    let mut waiting: Vec<u32> = Vec::new();
    for first in 0..codes as u32 {
        if found[first as usize] != NEW {
            continue;
        }
        let mut path: Vec<(u32, usize)> = vec![(first, start(first))];
        while let Some((code, edge)) = path.last_mut() {
            let at = *code as usize;
            if found[at] == NEW {
                (found[at], lowest[at]) = (clock, clock);
                clock += 1;
                waiting.push(*code);
            }
            if let Some(&(_, next, _)) = edges.get(*edge).filter(|(head, ..)| head == code) {
                let next_at = next as usize;
                if found[next_at] == NEW {
                    // The edge is looked at again when the way through it has been seen.
                    path.push((next, start(next)));
                } else {
                    if group[next_at] == NEW {
                        lowest[at] = lowest[at].min(lowest[next_at]);
                    }
                    *edge += 1;
                }
                continue;
            }
            if lowest[at] == found[at] {
                while let Some(member) = waiting.pop() {
                    group[member as usize] = finished;
                    if member as usize == at {
                        break;
                    }
                }
                finished += 1;
            }
            path.pop();
        }
    }
    group
}
