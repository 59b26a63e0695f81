import MergeModel
import Testing

@testable import FileServing

/// Damaged files: nothing traps, and what is rearranged nevertheless holds the same chunks.
@Suite struct MovieDamageTests {
    private typealias Make = BoxBytes

    private static let roundCount = 1_500

    private static func sample() -> [UInt8] {
        let media = (0..<600).map { UInt8(truncatingIfNeeded: $0 * 31 ^ $0 >> 2) }
        let front = Make.fileType + Make.box("free", [0, 0])
        let start = UInt64(front.count + 8)
        let handler = Make.box("hdlr", Array(repeating: 0, count: 20))
        let user = Make.box("udta", Make.box("meta", [0, 0, 0, 0], handler, Make.box("ilst", [1])), [0, 0, 0, 0])
        let tracks = [
            Make.track(Make.stco([start, start + 100, start + 200])), Make.track(Make.co64([start + 50, start + 500])),
            Make.track(Make.stco([start + 300]), long: true),
        ]
        return front + Make.box("mdat", media) + Make.movie(tracks, extra: user) + Make.box("skip", [9])
    }

    private static func damage(_ bytes: [UInt8], _ random: inout SplitMix64) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<Int.random(in: 1...3, using: &random) where bytes.count > 8 {
            // Mostly in the index, which is at the end.
            let place =
                Int.random(in: 0..<4, using: &random) == 0
                ? Int.random(in: 0..<bytes.count, using: &random)
                : Int.random(in: (bytes.count / 2)..<bytes.count, using: &random)
            switch Int.random(in: 0..<7, using: &random) {
            case 0: bytes[place] = .random(in: 0...255, using: &random)
            case 1: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            case 2:
                let extremes: [UInt32] = [0, 1, 7, 8, 15, 16, 0x7FFF_FFFF, 0x8000_0000, .max, .max - 7]
                let number = extremes.randomElement(using: &random) ?? 0
                for (index, byte) in number.bigEndianBytes.enumerated() where place + index < bytes.count {
                    bytes[place + index] = byte
                }
            case 3: bytes.removeLast(Int.random(in: 0..<bytes.count, using: &random) / 4)
            case 4: bytes.remove(at: place)
            case 5: bytes.insert(.random(in: 0...255, using: &random), at: place)
            default:
                let types = [
                    "moov", "trak", "stbl", "stco", "co64", "meta", "udta", "dref", "uuid", "mdat", "ftyp", "free",
                ]
                let type = types.randomElement(using: &random) ?? "free"
                for (index, byte) in type.utf8.enumerated() where place + index < bytes.count {
                    bytes[place + index] = byte
                }
            }
        }
        return bytes
    }

    @Test(arguments: 0..<16 as Range<UInt64>)
    func `damage never traps and never moves a chunk elsewhere`(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let sample = Self.sample()
        var rearrangedCount = 0
        for round in 0..<Self.roundCount {
            let source = SparseBytes(Self.damage(sample, &random))
            guard case .indexInFront(let file) = MovieIndex.arrangement(of: source) else { continue }
            rearrangedCount += 1
            let served = ServedBytes(file: file, source: source)
            let before = try NaiveMovie.offsets(source)
            let after = try NaiveMovie.offsets(served)
            #expect(served.read(Int(served.length), at: 0).count == Int(served.length))
            guard before.map(\.count) == after.map(\.count) else {
                Issue.record("other tables in round \(round) of seed \(seed)")
                continue
            }
            let movie = try #require(try NaiveMovie.boxes(source).first { $0.type == "moov" })
            for (old, new) in zip(before.joined(), after.joined()) {
                // Where the media end, there is another byte now.
                if old == movie.start { continue }
                #expect(source.read(1, at: old) == served.read(1, at: new), "round \(round) of seed \(seed)")
            }
        }
        #expect(rearrangedCount > 0 && rearrangedCount < Self.roundCount)
    }

    @Test(arguments: 0..<8 as Range<UInt64>)
    func `random bytes never trap`(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        for _ in 0..<1_000 {
            let bytes = (0..<Int.random(in: 0..<200, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            guard case .asIs = MovieIndex.arrangement(of: SparseBytes(bytes)) else {
                Issue.record("\(bytes)")
                continue
            }
            let media = Make.fileType + Make.box("mdat", [1, 2, 3]) + Make.box("moov", bytes)
            _ = MovieIndex.arrangement(of: SparseBytes(media))
        }
    }

    @Test func `a file that is cut at any place is served as it is`() {
        let sample = Self.sample()
        // Without the last box it is a whole movie.
        for length in 0..<(sample.count - 9) {
            guard case .asIs = MovieIndex.arrangement(of: SparseBytes(Array(sample.prefix(length)))) else {
                Issue.record("\(length) bytes")
                continue
            }
        }
        guard case .indexInFront = MovieIndex.arrangement(of: SparseBytes(sample)) else {
            Issue.record("the whole sample is not rearranged")
            return
        }
    }

    /// Answers with other bytes from the third look on.
    private final class Changing: RandomAccessBytes {
        let first: SparseBytes
        let then: [UInt8]
        var lookCount = 0
        let change: Int

        init(_ first: [UInt8], then: [UInt8], change: Int) {
            self.first = SparseBytes(first)
            self.then = then
            self.change = change
        }

        var length: UInt64 { self.first.length }

        func read(_ count: Int, at offset: UInt64) throws(Never) -> [UInt8] {
            self.lookCount += 1
            let source = self.lookCount > self.change ? SparseBytes(self.then) : self.first
            return source.read(count, at: offset)
        }
    }

    @Test func `a file that changes between two looks is served as it is, or as it was read`() {
        let sample = Self.sample()
        for change in 0..<8 {
            let others: [[UInt8]] = [
                [], [1], Array(sample.prefix(700)), Array(repeating: 255, count: 3_000), Array(sample.reversed()),
            ]
            for then in others {
                let source = Changing(sample, then: then, change: change)
                let arrangement = MovieIndex.arrangement(of: source)
                if source.lookCount > change {
                    guard case .asIs = arrangement else {
                        Issue.record("change \(change) to \(then.count) bytes")
                        continue
                    }
                }
            }
        }
    }
}
