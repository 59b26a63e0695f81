import MergeModel
import Testing

@testable import CRDTCore

/// Writes whose content is dropped: the hashes of their changes stay.
struct RedactingTests {
    private static let previous = ChainHash.origin(TestDevice.workspace)

    /// A change that opens a chain, or goes on, with writes of all sizes and what cannot be dropped.
    private static func run(opens: Bool, valueByteCounts: [Int]) -> Run {
        let device = TestDevice(number: 1)
        let nonce = Bytes16(high: 1, low: 2)
        var builder = RunBuilder(replica: device.replica(nonce: nonce), firstSequence: opens ? 1 : 2)
        builder.beginChange(stamp: Stamp(rawValue: 1 << 40), context: [Point](), blinding: Array(0..<16))
        if opens { builder.append(.introduce(device.introduction(nonce: nonce))) }
        for (number, count) in valueByteCounts.enumerated() {
            let object = ObjectID(bytes: Bytes16(high: 0xaaaa, low: UInt64(number % 2)))
            builder.append(.set(object, name: "n\(number % 3)", value: .bytes(Array(repeating: 7, count: count))))
        }
        return SampleRuns.signed(builder)
    }

    private func hashes(_ run: Run) -> [Hash256] {
        ChainHash.hashes(of: run, previous: Self.previous, TestDevice.cryptography)
    }

    private func subsets(of count: Int) -> [Set<Int>] {
        (0..<1 << count).map { bits in Set((0..<count).filter { bits >> $0 & 1 == 1 }) }
    }

    @Test(arguments: [true, false])
    func `whatever is dropped, and in however many steps, the hash stays`(opens: Bool) throws {
        let run = Self.run(opens: opens, valueByteCounts: [0, 63, 64, 500, 5])
        var (wholeCount, partCount) = (0, 0)
        for first in self.subsets(of: run.operations.count) {
            guard let (once, dropped) = run.redacting(first, TestDevice.cryptography) else { continue }
            #expect(Set(dropped).isSubset(of: first) && !dropped.isEmpty)
            for second in [first, Set(run.operations.indices)] {
                let rest = once.redacting(second, TestDevice.cryptography)?.run ?? once
                for redacted in [once, rest] {
                    #expect(self.hashes(redacted) == self.hashes(run))
                    #expect(redacted.size.byteCount < run.size.byteCount)
                    try redacted.validate()
                    let read = try Run(decoding: redacted.encoded())
                    #expect(read == redacted)
                    for position in run.operations.indices {
                        let kept = redacted.operations[position].kind != .redacted
                        #expect(
                            try kept
                                ? redacted.edit(redacted.operations[position]) == run.edit(run.operations[position])
                                : redacted.edit(redacted.operations[position]).object
                                    == run.edit(run.operations[position]).object
                        )
                    }
                    if redacted.changes[0].redaction == .whole { wholeCount += 1 } else { partCount += 1 }
                }
            }
        }
        #expect(wholeCount > 0 && partCount > 50)
    }

    @Test func `what says of itself that it is redacted, and is not, is refused`() throws {
        let run = Self.run(opens: false, valueByteCounts: [100, 200])
        let whole = try #require(run.redacting([0, 1], TestDevice.cryptography)).run
        let part = try #require(run.redacting([1], TestDevice.cryptography)).run
        #expect(whole.changes[0].redaction == .whole && part.changes[0].redaction == .partial)
        var wrong: [Run] = []
        for base in [run, whole, part] {
            for redaction in [Redaction.none, .partial, .whole] {
                var run = base
                run.changes[0].redaction = redaction
                if run != base { wrong.append(run) }
            }
        }
        var mixed = whole
        mixed.operations[0].kind = .unset
        wrong.append(mixed)
        for run in wrong {
            #expect(throws: WireError.self) { try run.validate() }
            #expect(throws: (any Error).self) { try Run(decoding: run.encoded()) }
        }
        // There is no other version.
        for run in [run, whole, part] {
            var bytes = run.encoded()
            bytes[0] ^= 3
            #expect(throws: (any Error).self) { try Run(decoding: bytes) }
        }
    }
}
