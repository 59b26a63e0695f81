/// A QR code (ISO/IEC 18004) of a text, in byte mode with the lowest error correction: a screen is not a crumpled
/// label.
struct QRCode {
    /// Modules along one side.
    let size: Int
    private var dark: [Bool]
    /// Modules that belong to the symbol's own patterns and are not masked.
    private var isFixed: [Bool]
    private let version: Int

    private static let versionMax = 20
    // For each version from 1 at error correction level L: check bytes of a block, and blocks.
    private static let checkByteCounts = [
        7, 10, 15, 20, 26, 18, 20, 24, 30, 18, 20, 24, 26, 30, 22, 24, 28, 30, 28, 28,
    ]
    private static let blockCounts = [1, 1, 1, 1, 1, 2, 2, 2, 2, 4, 4, 4, 4, 4, 6, 6, 6, 6, 7, 8]

    /// Nil for a text that is too long.
    init?(text: String) {
        let content = Array(text.utf8)
        guard let version = (1...Self.versionMax).first(where: { Self.capacity($0) >= content.count }) else {
            return nil
        }
        self.init(version: version)
        self.drawPatterns()
        self.drawData(Self.withCheckBytes(Self.dataBytes(content, version), version))
        let masks = (0..<8).map { mask in (mask, self.masked(mask).penalty) }
        self = self.masked(masks.min { $0.1 < $1.1 }?.0 ?? 0)
    }

    private init(version: Int) {
        self.version = version
        self.size = version * 4 + 17
        self.dark = Array(repeating: false, count: self.size * self.size)
        self.isFixed = self.dark
    }

    subscript(row: Int, column: Int) -> Bool {
        (0..<self.size).contains(row) && (0..<self.size).contains(column) && self.dark[row * self.size + column]
    }

    /// Two rows of modules a line of text, light on dark inverted so that it scans on either background.
    var terminalText: String {
        var text = ""
        let border = 2
        for row in stride(from: -border, to: self.size + border, by: 2) {
            text += "\u{1b}[30;107m"
            for column in -border..<self.size + border {
                switch (self[row, column], self[row + 1, column]) {
                case (true, true): text += "█"
                case (true, false): text += "▀"
                case (false, true): text += "▄"
                case (false, false): text += " "
                }
            }
            text += "\u{1b}[0m\n"
        }
        return text
    }

    // MARK: - Bytes

    /// Modules that are left for data and check bits.
    private static func rawModuleCount(_ version: Int) -> Int {
        var count = (16 * version + 128) * version + 64
        if version >= 2 {
            let alignments = version / 7 + 2
            count -= (25 * alignments - 10) * alignments - 55
            if version >= 7 { count -= 36 }
        }
        return count
    }

    private static func dataByteCount(_ version: Int) -> Int {
        self.rawModuleCount(version) / 8 - self.checkByteCounts[version - 1] * self.blockCounts[version - 1]
    }

    /// Bytes of text that fit: four bits of mode and the length come first.
    private static func capacity(_ version: Int) -> Int {
        self.dataByteCount(version) - (version < 10 ? 2 : 3)
    }

    private static func dataBytes(_ content: [UInt8], _ version: Int) -> [UInt8] {
        var bits: [Bool] = []
        func append(_ value: Int, _ count: Int) {
            for bit in (0..<count).reversed() { bits.append(value >> bit & 1 == 1) }
        }
        append(0b0100, 4)
        append(content.count, version < 10 ? 8 : 16)
        for byte in content { append(Int(byte), 8) }
        append(0, min(4, self.dataByteCount(version) * 8 - bits.count))
        append(0, (8 - bits.count % 8) % 8)
        var bytes = stride(from: 0, to: bits.count, by: 8).map { start in
            bits[start..<start + 8].reduce(UInt8(0)) { $0 << 1 | ($1 ? 1 : 0) }
        }
        for index in 0..<self.dataByteCount(version) - bytes.count { bytes.append(index % 2 == 0 ? 0xec : 0x11) }
        return bytes
    }

    /// Divides the data into blocks, gives each its check bytes, and interleaves them.
    private static func withCheckBytes(_ data: [UInt8], _ version: Int) -> [UInt8] {
        let blockCount = self.blockCounts[version - 1]
        let checkByteCount = self.checkByteCounts[version - 1]
        let generator = ReedSolomon.generator(checkByteCount)
        let shortCount = data.count / blockCount
        let longBlocks = data.count % blockCount
        var blocks: [ArraySlice<UInt8>] = []
        var start = 0
        for block in 0..<blockCount {
            let end = start + shortCount + (block >= blockCount - longBlocks ? 1 : 0)
            blocks.append(data[start..<end])
            start = end
        }
        var result: [UInt8] = []
        for offset in 0...shortCount {
            for block in blocks where offset < block.count { result.append(block[block.startIndex + offset]) }
        }
        let checks = blocks.map { ReedSolomon.remainder($0, generator) }
        for offset in 0..<checkByteCount { result += checks.map { $0[offset] } }
        return result
    }

    // MARK: - Modules

    private mutating func fix(_ row: Int, _ column: Int, _ isDark: Bool) {
        guard (0..<self.size).contains(row), (0..<self.size).contains(column) else { return }
        self.dark[row * self.size + column] = isDark
        self.isFixed[row * self.size + column] = true
    }

    private mutating func drawPatterns() {
        for index in 0..<self.size {
            self.fix(6, index, index % 2 == 0)
            self.fix(index, 6, index % 2 == 0)
        }
        for (row, column) in [(3, 3), (3, self.size - 4), (self.size - 4, 3)] {
            for y in -4...4 {
                for x in -4...4 {
                    let distance = max(abs(x), abs(y))
                    self.fix(row + y, column + x, distance != 2 && distance != 4)
                }
            }
        }
        let centers = self.alignmentCenters
        for (i, row) in centers.enumerated() {
            for (j, column) in centers.enumerated() {
                let isCorner = (i, j) == (0, 0) || (i, j) == (0, centers.count - 1) || (i, j) == (centers.count - 1, 0)
                if isCorner { continue }
                for y in -2...2 {
                    for x in -2...2 { self.fix(row + y, column + x, max(abs(x), abs(y)) != 1) }
                }
            }
        }
        self.drawFormat(mask: 0)
        self.drawVersion()
    }

    private var alignmentCenters: [Int] {
        guard self.version > 1 else { return [] }
        let count = self.version / 7 + 2
        let step = (self.version * 4 + count * 2 + 1) / (count * 2 - 2) * 2
        return [6] + (0..<count - 1).map { self.size - 7 - $0 * step }.reversed()
    }

    private mutating func drawFormat(mask: Int) {
        let data = 0b01 << 3 | mask
        var remainder = data
        for _ in 0..<10 { remainder = remainder << 1 ^ (remainder >> 9) * 0x537 }
        let bits = (data << 10 | remainder) ^ 0x5412
        func bit(_ index: Int) -> Bool { bits >> index & 1 == 1 }
        for index in 0...5 { self.fix(index, 8, bit(index)) }
        self.fix(7, 8, bit(6))
        self.fix(8, 8, bit(7))
        self.fix(8, 7, bit(8))
        for index in 9..<15 { self.fix(8, 14 - index, bit(index)) }
        for index in 0..<8 { self.fix(8, self.size - 1 - index, bit(index)) }
        for index in 8..<15 { self.fix(self.size - 15 + index, 8, bit(index)) }
        self.fix(self.size - 8, 8, true)
    }

    private mutating func drawVersion() {
        guard self.version >= 7 else { return }
        var remainder = self.version
        for _ in 0..<12 { remainder = remainder << 1 ^ (remainder >> 11) * 0x1f25 }
        let bits = self.version << 12 | remainder
        for index in 0..<18 {
            let (far, near) = (self.size - 11 + index % 3, index / 3)
            self.fix(far, near, bits >> index & 1 == 1)
            self.fix(near, far, bits >> index & 1 == 1)
        }
    }

    /// Two columns at a time from the right, up and down in turn, leaving out the vertical timing pattern.
    private mutating func drawData(_ bytes: [UInt8]) {
        var index = 0
        var right = self.size - 1
        var isUpward = true
        while right >= 1 {
            if right == 6 { right = 5 }
            for step in 0..<self.size {
                let row = isUpward ? self.size - 1 - step : step
                for column in [right, right - 1] where !self.isFixed[row * self.size + column] {
                    if index < bytes.count * 8 {
                        self.dark[row * self.size + column] = bytes[index / 8] >> (7 - index % 8) & 1 == 1
                    }
                    index += 1
                }
            }
            isUpward.toggle()
            right -= 2
        }
    }

    private func masked(_ mask: Int) -> QRCode {
        var code = self
        for row in 0..<self.size {
            for column in 0..<self.size where !self.isFixed[row * self.size + column] {
                if Self.isInverted(mask, row, column) { code.dark[row * self.size + column].toggle() }
            }
        }
        code.drawFormat(mask: mask)
        return code
    }

    private static func isInverted(_ mask: Int, _ row: Int, _ column: Int) -> Bool {
        switch mask {
        case 0: (row + column) % 2 == 0
        case 1: row % 2 == 0
        case 2: column % 3 == 0
        case 3: (row + column) % 3 == 0
        case 4: (row / 2 + column / 3) % 2 == 0
        case 5: row * column % 2 + row * column % 3 == 0
        case 6: (row * column % 2 + row * column % 3) % 2 == 0
        default: ((row + column) % 2 + row * column % 3) % 2 == 0
        }
    }

    /// How hard the symbol is to read: long runs, blocks of one colour, and imbalance.
    ///
    /// Any mask can be read; this only finds a good one.
    private var penalty: Int {
        var penalty = 0
        for line in 0..<self.size {
            penalty += Self.runPenalty((0..<self.size).map { self[line, $0] })
            penalty += Self.runPenalty((0..<self.size).map { self[$0, line] })
        }
        for row in 0..<self.size - 1 {
            for column in 0..<self.size - 1 {
                let color = self[row, column]
                if self[row, column + 1] == color, self[row + 1, column] == color, self[row + 1, column + 1] == color {
                    penalty += 3
                }
            }
        }
        let darkCount = self.dark.count { $0 }
        return penalty + abs(darkCount * 20 - self.dark.count * 10) / self.dark.count * 10
    }

    private static func runPenalty(_ line: [Bool]) -> Int {
        var penalty = 0
        var run = 0
        for (index, color) in line.enumerated() {
            run = index > 0 && line[index - 1] == color ? run + 1 : 1
            if run == 5 { penalty += 3 } else if run > 5 { penalty += 1 }
        }
        return penalty
    }
}

/// Check bytes over the field of 256 elements that QR codes use.
private enum ReedSolomon {
    static func generator(_ degree: Int) -> [UInt8] {
        var result = [UInt8](repeating: 0, count: degree - 1) + [1]
        var root: UInt8 = 1
        for _ in 0..<degree {
            for index in result.indices {
                result[index] = self.product(result[index], root)
                if index + 1 < result.count { result[index] ^= result[index + 1] }
            }
            root = self.product(root, 2)
        }
        return result
    }

    static func remainder(_ data: ArraySlice<UInt8>, _ generator: [UInt8]) -> [UInt8] {
        var result = [UInt8](repeating: 0, count: generator.count)
        for byte in data {
            let factor = byte ^ result.removeFirst()
            result.append(0)
            for index in result.indices { result[index] ^= self.product(generator[index], factor) }
        }
        return result
    }

    private static func product(_ left: UInt8, _ right: UInt8) -> UInt8 {
        var result = 0
        for bit in (0..<8).reversed() {
            result = result << 1 ^ (result >> 7) * 0x11d
            result ^= Int(right) >> bit & 1 == 1 ? Int(left) : 0
        }
        return UInt8(truncatingIfNeeded: result)
    }
}
