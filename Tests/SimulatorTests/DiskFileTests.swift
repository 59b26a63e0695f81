import Testing

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
}
