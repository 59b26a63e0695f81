/// What may not stand in the code of the modules that only compute.
///
/// Time, entropy and the results of input and output come to them as arguments; this is what makes a simulated run the
/// same as a real one.
enum PurityRules {
    static let pureModules: Set<String> = ["CRDTCore", "PeerCrypto", "SyncProtocol", "Engine"]

    /// The one file that draws randomness, for the shells to pass on.
    static let entropyFile = "Sources/PeerCrypto/SystemEntropy.swift"

    static func violations(in file: SourceFile) -> [String] {
        var found: [String] = []
        if let module = file.module, self.pureModules.contains(module) {
            for banned in self.impureWords() {
                found += file.matches(of: banned) { "\(module) may not use \($0)" }
            }
        }
        if file.module != nil, file.path != self.entropyFile {
            for banned in self.drawsOfRandomness() {
                found += file.matches(of: banned) { "only \(self.entropyFile) may use \($0)" }
            }
        }
        return found
    }

    // Functions, as `Regex` is not `Sendable`.

    private static func impureWords() -> [Regex<AnyRegexOutput>] {
        let time = Regex<AnyRegexOutput>(/\b(?:Date\(|ContinuousClock|SuspendingClock|clock_gettime|gettimeofday)/)
        let chance = Regex<AnyRegexOutput>(
            /\bUUID\(|\.random\(|\.randomElement\(|\.shuffled?\(\)|\bSystemRandomNumberGenerator\b/
        )
        let concurrency = Regex<AnyRegexOutput>(
            /\bTask(?:Group|Local)?\b|\bDispatch\w+|\basync\b|\bawait\b|\bactor\s+\w|\bNSLock\b|\bMutex\b|\bAtomic\b/
        )
        let output = Regex<AnyRegexOutput>(/\b(?:print|debugPrint|dump|readLine|getenv)\(/)
        let traps = Regex<AnyRegexOutput>(/\btry!|\bas!|\bfatalError\(/)
        return [time, chance, concurrency, output, traps]
    }

    private static func drawsOfRandomness() -> [Regex<AnyRegexOutput>] {
        // A key pair from a seed is computed, not drawn.
        let libsodium = Regex<AnyRegexOutput>(
            /\brandombytes_\w+|\bcrypto_(?!\w*_seed_keypair\b)\w+_(?:keypair|keygen)\b/
        )
        let system = Regex<AnyRegexOutput>(/\b(?:getrandom|getentropy|arc4random\w*)\(/)
        return [libsodium, system]
    }
}
