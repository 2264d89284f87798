#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::a2a_body(data));
