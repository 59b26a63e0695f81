import Testing

@Suite struct PurityRulesTests {
    @Test func `the pure modules use no clock, chance, concurrency, output or trap`() throws {
        let violations = try Repository.swiftFiles().flatMap(PurityRules.violations)
        #expect(violations.isEmpty, "\(violations.joined(separator: "\n"))")
    }

    static let impure = [
        "let now = Date()",
        "let id = UUID()",
        "let roll = Int.random(in: 0..<6)",
        "list.shuffle()",
        "var generator = SystemRandomNumberGenerator()",
        "let clock = ContinuousClock()",
        "Task { }",
        "withTaskGroup(of: Void.self) { TaskGroup<Void>.self }",
        "DispatchQueue.main",
        "func f() async {}",
        "await f()",
        "actor Store {}",
        "let lock = NSLock()",
        "let box = Mutex<Int>(0)",
        "print(1)",
        "let x = try! f()",
        "fatalError(\"no\")",
        "let text = \"\\(Date())\"",
    ]

    @Test(arguments: PurityRulesTests.impure, PurityRules.pureModules.sorted())
    func `an impure word is found in each pure module`(line: String, module: String) {
        let file = SourceFile(path: "Sources/\(module)/Example.swift", text: line)
        #expect(!PurityRules.violations(in: file).isEmpty)
    }

    @Test(arguments: [
        "// Task, print( and try! in a comment",
        "let text = \"await Date()\"",
        "let bytes = run.fingerprint(of: 1)",
        "self.update(x)",
        "candidate.isDate(x)",
        "let asynchronous = 1",
        "let Tasks = 2",
        "randomised(by: seed)",
        "func `a print( in a sentence, with Task`() {}",
    ])
    func `what only looks impure is allowed`(line: String) {
        let file = SourceFile(path: "Sources/Engine/Example.swift", text: line)
        #expect(PurityRules.violations(in: file).isEmpty)
    }

    @Test func `the shells and executables may use clocks and tasks`() {
        for module in ["Persistence", "PeerTransport", "peerd"] {
            let file = SourceFile(path: "Sources/\(module)/Example.swift", text: "Task { print(Date()) }")
            #expect(PurityRules.violations(in: file).isEmpty)
        }
    }

    @Test(arguments: ["randombytes_buf(p, 32)", "crypto_sign_keypair(a, b)", "getrandom(p, 32, 0)"])
    func `randomness is drawn in one file`(line: String) {
        for path in ["Sources/PeerCrypto/SigningKey.swift", "Sources/peerd/Run.swift"] {
            #expect(!PurityRules.violations(in: SourceFile(path: path, text: line)).isEmpty)
        }
        #expect(PurityRules.violations(in: SourceFile(path: PurityRules.entropyFile, text: line)).isEmpty)
    }

    @Test func `a key pair from a seed is not a draw`() {
        let file = SourceFile(path: "Sources/PeerCrypto/SigningKey.swift", text: "crypto_sign_seed_keypair(a, b, c)")
        #expect(PurityRules.violations(in: file).isEmpty)
    }
}
