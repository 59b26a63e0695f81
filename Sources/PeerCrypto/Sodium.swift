internal import CSodium

/// The library below, made ready once per process.
package enum Sodium {
    /// Whether libsodium is initialised and has chosen its fastest implementations.
    ///
    /// Reading it initialises the library the first time.
    package static let isReady: Bool = sodium_init() >= 0

    /// Stops the program if libsodium cannot be used at all: nothing here can be done safely without it.
    @inline(__always)
    static func requireReady() {
        precondition(Self.isReady, "libsodium could not be initialised")
    }
}
