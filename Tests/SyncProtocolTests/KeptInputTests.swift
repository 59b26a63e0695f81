import DecoderExercises
import Foundation
import Testing

/// What the fuzzers have found worth keeping, replayed: `make fuzz` goes on from there.
@Suite struct KeptInputTests {
    private static let fuzz = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Fuzz")
    private static let corpus = Self.fuzz.appendingPathComponent("Corpus")
    private static let crashers = Self.fuzz.appendingPathComponent("Crashers")
    /// What a fuzzer has just found here, as `exercise/file`, until somebody has moved it into the corpus.
    private static let found = (FileManager.default.subpaths(atPath: Self.crashers.path) ?? [])
        .filter { $0.contains("/") }.sorted()

    /// The names in a directory; throws if it is not there.
    private static func names(in directory: URL) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
    }

    /// The inputs that are kept for an exercise; throws if there is no folder for it.
    private static func inputs(of exercise: String) throws -> [(name: String, bytes: [UInt8])] {
        let folder = self.corpus.appendingPathComponent(exercise)
        return try self.names(in: folder).map { name in
            (name, Array(try Data(contentsOf: folder.appendingPathComponent(name))))
        }
    }

    private static func exercise(_ name: String) throws -> DecoderExercise {
        try #require(DecoderExercise.all.first { $0.name == name }, "nothing reads the inputs of \(name)")
    }

    @Test(arguments: DecoderExercise.all.map(\.name))
    func `every seed keeps the decoder's promises`(name: String) throws {
        let exercise = try Self.exercise(name)
        let seeds = exercise.seeds()
        #expect(!seeds.isEmpty)
        for (number, seed) in seeds.enumerated() {
            #expect(exercise.complaint(seed) == nil, "seed \(number)")
        }
    }

    @Test(arguments: DecoderExercise.all.map(\.name))
    func `every kept input keeps the decoder's promises`(name: String) throws {
        let exercise = try Self.exercise(name)
        let inputs = try Self.inputs(of: name)
        #expect(!inputs.isEmpty)
        for input in inputs { #expect(exercise.complaint(input.bytes) == nil, "\(input.name)") }
    }

    @Test(.enabled(if: !KeptInputTests.found.isEmpty, "no fuzzer has found anything here"))
    func `every input that a fuzzer has found here keeps the decoder's promises`() throws {
        for path in Self.found {
            let exercise = try Self.exercise(String(path.prefix { $0 != "/" }))
            let input = Array(try Data(contentsOf: Self.crashers.appendingPathComponent(path)))
            #expect(exercise.complaint(input) == nil, "\(path)")
        }
    }

    @Test func `the corpus has inputs of all exercises and of nothing else, and stays below a megabyte`() throws {
        let names = try Self.names(in: Self.corpus)
        #expect(names == DecoderExercise.all.map(\.name).sorted())
        let byteCount = try names.reduce(0) { sum, name in
            try Self.inputs(of: name).reduce(sum) { $0 + $1.bytes.count }
        }
        #expect(byteCount > 0 && byteCount < 1 << 20)
    }
}
