import DecoderExercises
import Foundation
import Testing

/// What the fuzzers have found worth keeping, replayed: `make fuzz` goes on from there.
@Suite struct KeptInputTests {
    /// The inputs kept for an exercise in one of the two directories.
    private static func inputs(_ kind: String, of exercise: DecoderExercise) throws -> [(name: String, bytes: [UInt8])]
    {
        let root = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath()
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let directory = root.appendingPathComponent("Fuzz/\(kind)/\(exercise.name)")
        guard FileManager.default.fileExists(atPath: directory.path) else { return [] }
        return try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted().map { name in
            (name, Array(try Data(contentsOf: directory.appendingPathComponent(name))))
        }
    }

    @Test(arguments: DecoderExercise.all.map(\.name))
    func `every seed keeps the decoder's promises`(name: String) throws {
        let exercise = try #require(DecoderExercise.all.first { $0.name == name })
        let seeds = exercise.seeds()
        #expect(!seeds.isEmpty)
        for (number, seed) in seeds.enumerated() {
            #expect(exercise.complaint(seed) == nil, "seed \(number)")
        }
    }

    @Test(arguments: DecoderExercise.all.map(\.name))
    func `every kept input keeps the decoder's promises`(name: String) throws {
        let exercise = try #require(DecoderExercise.all.first { $0.name == name })
        let inputs = try Self.inputs("Corpus", of: exercise)
        #expect(!inputs.isEmpty, "the corpus is part of the repository")
        // What a fuzzer has just found lies beside it, until somebody has moved it into the corpus.
        for input in inputs + (try Self.inputs("Crashers", of: exercise)) {
            #expect(exercise.complaint(input.bytes) == nil, "\(input.name)")
        }
    }

    @Test func `the kept inputs stay below a megabyte`() throws {
        let byteCount = try DecoderExercise.all.reduce(0) { sum, exercise in
            try Self.inputs("Corpus", of: exercise).reduce(sum) { $0 + $1.bytes.count }
        }
        #expect(byteCount < 1 << 20)
    }
}
