internal import CSodium

/// The operating system's random generator.
///
/// Only executables call this, to seed an ``EntropyStream``: everything below takes entropy as an argument, so that it
/// can be run again exactly.
package enum SystemEntropy {
    /// A fresh secret of 32 bytes.
    package static func seed() -> SecretBytes {
        SecretBytes(count: EntropyStream.seedByteCount) { seed in
            randombytes_buf(seed.baseAddress!, seed.count)
        }
    }
}
