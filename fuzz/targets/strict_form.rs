#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::strict_form(data));
