// Rust for the symbolizer: traits, generics, closures, inlined functions.
use std::collections::HashMap;
use std::hint::black_box;

trait Shape {
    fn area(&self) -> f64;
}
struct Square(f64);
struct Circle(f64);
impl Shape for Square {
    #[inline(never)]
    fn area(&self) -> f64 {
        self.0 * self.0
    }
}
impl Shape for Circle {
    #[inline(never)]
    fn area(&self) -> f64 {
        self.0 * self.0 * 3.14
    }
}

#[inline(always)]
fn inner(x: i32) -> i32 {
    black_box(x * 7) // AT inner
}

#[inline(always)]
fn middle(x: i32) -> i32 {
    let a = black_box(x);
    inner(a + 1) + 1 // AT middle
}

#[inline(never)]
#[no_mangle]
pub fn outer(x: i32) -> i32 {
    let a = black_box(x);
    middle(a + 2) + 1 // AT outer
}

#[inline(never)]
fn count<K: std::hash::Hash + Eq + Clone>(keys: &[K]) -> HashMap<K, usize> {
    let mut map = HashMap::new();
    keys.iter().for_each(|key| *map.entry(key.clone()).or_insert(0) += 1);
    map
}

fn main() {
    let shapes: Vec<Box<dyn Shape>> = vec![Box::new(Square(2.0)), Box::new(Circle(1.0))];
    let total: f64 = shapes.iter().map(|shape| shape.area()).sum();
    let words: Vec<String> = "a b c a".split(' ').map(String::from).collect();
    println!("{} {} {}", outer(3), total, count(&words).len());
}
