import Testing

@testable import Simulation
@testable import Simulator

struct DiskFileTests {
    private func write(_ bytes: [UInt8], at offset: Int, to file: DiskFile) {
        bytes.withUnsafeBytes { file.write($0, at: offset) }
    }

    @Test(arguments: PowerLoss.allCases)
    func `what was synced survives every power cut`(_ outcome: PowerLoss) {
        for seed in 0..<50 {
            let file = DiskFile()
            self.write([1, 2, 3, 4], at: 0, to: file)
            file.sync()
            self.write([9], at: 6, to: file)
            var random = LossGenerator(seed: UInt64(seed))
            _ = file.losePower(outcome, &random)
            #expect(file.content.starts(with: [1, 2, 3, 4]), "seed \(seed)")
            #expect(!file.hasUnsyncedChanges)
        }
    }

    @Test func `what was not synced may be lost whole, in its tail, in parts, or torn at a sector`() {
        var sizes: [PowerLoss: Set<[UInt8]>] = [:]
        for outcome in PowerLoss.allCases {
            for seed in 0..<60 {
                let file = DiskFile(content: [UInt8](repeating: 0, count: 1024))
                self.write([UInt8](repeating: 1, count: 1024), at: 0, to: file)
                self.write([2], at: 1023, to: file)
                var random = LossGenerator(seed: UInt64(seed))
                _ = file.losePower(outcome, &random)
                sizes[outcome, default: []].insert([file.content[0], file.content[600], file.content[1023]])
            }
        }
        #expect(sizes[.keepsAll] == [[1, 1, 2]])
        #expect(sizes[.losesAll] == [[0, 0, 0]])
        #expect(sizes[.losesTail] == [[0, 0, 0], [1, 1, 1], [1, 1, 2]])
        #expect(sizes[.losesSome] == [[0, 0, 0], [1, 1, 1], [1, 1, 2], [0, 0, 2]])
        #expect(sizes[.tears]?.contains([1, 0, 2]) == true)
        #expect(sizes[.tears]?.contains([0, 1, 1]) == true)
    }

    /// A file beside what a simpler one would hold: the platter as it was at the last sync, and every write since.
    @Test func `the platter is what it was at the last sync`() {
        for seed in 0..<400 as Range<UInt64> {
            var random = LossGenerator(seed: seed)
            let file = DiskFile()
            var platter: [UInt8] = []
            var shown: [UInt8] = []
            for _ in 0..<random.below(60) {
                switch random.below(8) {
                case 0:
                    file.sync()
                    platter = shown
                case 1:
                    let length = random.below(400)
                    file.truncate(to: length)
                    shown.removeLast(max(0, shown.count - length))
                case 2 where !shown.isEmpty:
                    let offset = random.below(shown.count)
                    file.flipBit(3, at: offset)
                    shown[offset] ^= 8
                    if offset < platter.count { platter[offset] = shown[offset] }
                default:
                    let (offset, bytes) = (random.below(300), random.bytes(random.below(150)))
                    self.write(bytes, at: offset, to: file)
                    guard !bytes.isEmpty else { continue }
                    shown += [UInt8](repeating: 0, count: max(0, offset + bytes.count - shown.count))
                    shown.replaceSubrange(offset..<offset + bytes.count, with: bytes)
                }
            }
            let isShown = file.content == shown
            #expect(isShown, "seed \(seed)")
            let isLost = seed.isMultiple(of: 2)
            _ = file.losePower(isLost ? .losesAll : .keepsAll, &random)
            let isLeft = file.content == (isLost ? platter : shown)
            #expect(isLeft, "seed \(seed)")
        }
    }
}
