/// A `moov` box in memory, with the places in it that depend on where the media are.
struct MovieBox {
    /// The greatest number of boxes within `moov`.
    static let boxCountMax = 65_536

    /// Adobe's XMP, the one `uuid` box that is common and known to hold no file offsets.
    static let harmlessExtendedType: [UInt8] = [
        0xBE, 0x7A, 0xCF, 0xCB, 0x97, 0xA9, 0x42, 0xE8, 0x9C, 0x71, 0x99, 0x94, 0x91, 0xE3, 0xAF, 0xAC,
    ]

    private let bytes: [UInt8]
    /// The boxes around tables, outer ones first, in the order of their places.
    private var containers: [Container] = []
    /// In the order of their places.
    private var tables: [OffsetTable] = []
    private var boxCount = 0

    /// The reason why a movie cannot be moved.
    typealias Objection = MovieIndex.Reason

    /// A box whose length changes with that of a table in it.
    private struct Container {
        var place: Int
        var header: BoxHeader
    }

    /// An `stco` or `co64` box: the file offset of each chunk of a track.
    private struct OffsetTable {
        /// The place of the box, which begins with a header, a version and a count.
        var place: Int
        var header: BoxHeader
        var isWide: Bool
        var entries: Range<Int>
        /// The indices of the boxes around it.
        var containers: [Int]

        var entryLength: Int { self.isWide ? 8 : 4 }
    }

    init(_ bytes: [UInt8]) throws(Objection) {
        self.bytes = bytes
        guard let header = BoxHeader(bytes, available: UInt64(bytes.count)), header.type == "moov",
            header.boxLength == UInt64(bytes.count)
        else { throw .damaged }
        self.containers.append(Container(place: 0, header: header))
        try self.readChildren(Int(header.length)..<bytes.count, of: "moov", within: [0])
    }
}

// MARK: - Reading

extension MovieBox {
    /// The boxes that may stand in each box, apart from `uuid`.
    ///
    /// Any other one could hold file offsets, as `saio`, `iloc`, `gps ` and `cmov` do. No box stands within one of its
    /// own kind, so the depth has a limit, too.
    private static let children: [BoxType: Set<BoxType>] = [
        "moov": [
            "mvhd", "iods", "trak", "udta", "meta", "free", "skip", "wide", "clip", "ctab", "prfl", "meco", "pdin",
        ],
        "trak": [
            "tkhd", "edts", "tref", "mdia", "udta", "meta", "free", "skip", "wide", "tapt", "load", "txas", "matt",
            "clip",
            "imap", "kmat", "trgr",
        ],
        "mdia": ["mdhd", "hdlr", "minf", "elng", "udta", "meta", "free", "skip", "wide"],
        "minf": [
            "vmhd", "smhd", "hmhd", "nmhd", "sthd", "gmhd", "hdlr", "dinf", "stbl", "free", "skip", "wide",
        ],
        "dinf": ["dref", "free", "skip", "wide"],
        "stbl": [
            "stsd", "stts", "ctts", "cslg", "stsc", "stsz", "stz2", "stco", "co64", "stss", "stps", "stsh", "sdtp",
            "sbgp", "sgpd", "subs", "padb", "stdp", "free", "skip", "wide",
        ],
        "meta": [
            "hdlr", "ilst", "keys", "xml ", "bxml", "free", "skip", "wide", "mhdr", "ID32", "ctry", "lang",
        ],
    ]

    private mutating func readChildren(
        _ range: Range<Int>,
        of parent: BoxType,
        within containers: [Int]
    ) throws(Objection) {
        guard let allowed = Self.children[parent] else { throw .damaged }
        var tableCount = 0
        var place = range.lowerBound
        while place < range.upperBound {
            let header = try self.header(in: place..<range.upperBound)
            guard allowed.contains(header.type) || header.extendedType == Self.harmlessExtendedType else {
                throw header.type == "mvex" ? .fragmented : .unknownBox(header.type)
            }
            // It fits: the box is within the bytes in memory.
            let end = place + Int(header.boxLength)
            let content = (place + Int(header.length))..<end
            switch header.type {
            case "trak", "mdia", "minf", "dinf", "stbl":
                self.containers.append(Container(place: place, header: header))
                try self.readChildren(content, of: header.type, within: containers + [self.containers.count - 1])
            case "stco", "co64":
                tableCount += 1
                guard tableCount == 1 else { throw .damaged }
                try self.readTable(header, at: place, content, within: containers)
            case "dref":
                try self.checkReferences(content)
            case "udta":
                try self.checkUserData(content)
            case "meta":
                try self.checkMetadata(content)
            default:
                break
            }
            place = end
        }
    }

    private mutating func header(in range: Range<Int>) throws(Objection) -> BoxHeader {
        self.boxCount += 1
        guard self.boxCount <= Self.boxCountMax else { throw .tooLarge }
        guard let header = BoxHeader(self.bytes[range], available: UInt64(range.count)),
            header.lengthField != .toTheEnd
        else { throw .damaged }
        return header
    }

    private mutating func readTable(
        _ header: BoxHeader,
        at place: Int,
        _ content: Range<Int>,
        within containers: [Int]
    ) throws(Objection) {
        var reader = BigEndianReader(self.bytes[content])
        // Only version 0 is defined.
        guard reader.read(UInt32.self) == 0, let count = reader.read(UInt32.self) else { throw .damaged }
        let isWide = header.type == "co64"
        let entries = content.dropFirst(8)
        // At most 2^35, which does not overflow.
        guard UInt64(count) * (isWide ? 8 : 4) == UInt64(entries.count) else { throw .damaged }
        self.tables.append(
            OffsetTable(place: place, header: header, isWide: isWide, entries: entries, containers: containers)
        )
    }

    /// Offsets into another file are not to be touched, and such a file is not at hand.
    private mutating func checkReferences(_ content: Range<Int>) throws(Objection) {
        var reader = BigEndianReader(self.bytes[content])
        guard reader.read(UInt32.self) != nil, let count = reader.read(UInt32.self) else { throw .damaged }
        var place = content.lowerBound + 8
        var foundCount: UInt32 = 0
        while place < content.upperBound {
            let header = try self.header(in: place..<content.upperBound)
            let end = place + Int(header.boxLength)
            var flags = BigEndianReader(self.bytes[(place + Int(header.length))..<end])
            guard let value = flags.read(UInt32.self) else { throw .damaged }
            guard value & 1 == 1 else { throw .externalMedia }
            foundCount += 1
            place = end
        }
        guard foundCount == count else { throw .damaged }
    }

    /// User data are whatever somebody wrote, except for metadata, which may refer to places in the file.
    private mutating func checkUserData(_ content: Range<Int>) throws(Objection) {
        var place = content.lowerBound
        while place < content.upperBound {
            // QuickTime ends the list with a zero.
            if content.upperBound - place == 4, self.bytes[place..<content.upperBound].allSatisfy({ $0 == 0 }) {
                return
            }
            let header = try self.header(in: place..<content.upperBound)
            let end = place + Int(header.boxLength)
            if header.type == "meta" {
                try self.checkMetadata((place + Int(header.length))..<end)
            } else if header.type == "uuid", header.extendedType != Self.harmlessExtendedType {
                throw .unknownBox(header.type)
            }
            place = end
        }
    }

    private mutating func checkMetadata(_ content: Range<Int>) throws(Objection) {
        // QuickTime's box begins with `hdlr`; that of ISO has a version in front.
        var reader = BigEndianReader(self.bytes[content])
        _ = reader.read(UInt32.self)
        let isPlain = reader.read(UInt32.self) == BoxType("hdlr").code
        guard isPlain || content.count >= 4 else { throw .damaged }
        try self.readChildren(isPlain ? content : content.dropFirst(4), of: "meta", within: [])
    }
}

// MARK: - Moving

extension MovieBox {
    /// The same movie for media that are elsewhere.
    ///
    /// The media move by the new length of this box. The length grows with each table that needs wider offsets, and
    /// offsets grow with the length. So widening starts with no table and repeats until nothing changes; each round
    /// widens at least one table, and the result is the smallest that is right.
    func moved(by displacement: Displacement) throws(Objection) -> [UInt8] {
        let reaches = try self.tables.map { table throws(Objection) in try self.reach(of: table, displacement) }
        var widened = self.tables.map { _ in false }
        var length = UInt64(self.bytes.count)
        while true {
            var hasChanged = false
            for (index, table) in self.tables.enumerated() where !table.isWide && !widened[index] {
                guard let last = reaches[index].last(movieLength: length, displacement) else { throw .damaged }
                guard last > UInt32.max else { continue }
                widened[index] = true
                hasChanged = true
            }
            guard hasChanged else { break }
            length = UInt64(self.bytes.count) + self.growth(widened).reduce(0, +)
        }
        return try self.rewritten(widened, length: length, displacement)
    }

    /// The last chunk in each part of the file.
    private struct Reach {
        var inFront: UInt64?
        var between: UInt64?
        var behind: UInt64?

        /// The greatest offset after the move; nil if it has more than 64 bits.
        func last(movieLength: UInt64, _ displacement: Displacement) -> UInt64? {
            var last: UInt64 = 0
            for offset in [self.inFront, self.between, self.behind] {
                guard let offset else { continue }
                guard let moved = displacement.moved(offset, movieLength: movieLength) else { return nil }
                last = max(last, moved)
            }
            return last
        }
    }

    private func reach(of table: OffsetTable, _ displacement: Displacement) throws(Objection) -> Reach {
        var reach = Reach()
        for place in stride(from: table.entries.lowerBound, to: table.entries.upperBound, by: table.entryLength) {
            let offset = self.offset(at: place, wide: table.isWide)
            switch displacement.region(of: offset) {
            case .inFront: reach.inFront = max(reach.inFront ?? 0, offset)
            case .between: reach.between = max(reach.between ?? 0, offset)
            case .behind: reach.behind = max(reach.behind ?? 0, offset)
            case nil: throw .damaged
            }
        }
        return reach
    }

    private func offset(at place: Int, wide: Bool) -> UInt64 {
        self.bytes[place..<(place + (wide ? 8 : 4))].reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// The number of bytes by which each table grows: four for each offset.
    private func growth(_ widened: [Bool]) -> [UInt64] {
        zip(self.tables, widened).map { $1 ? UInt64($0.entries.count) : 0 }
    }

    private func rewritten(
        _ widened: [Bool],
        length: UInt64,
        _ displacement: Displacement
    ) throws(Objection) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(Int(length))
        let growth = self.growth(widened)
        // Tables and the headers of boxes around them are written in the order of their places.
        var containerGrowth = self.containers.map { _ in UInt64(0) }
        for (table, count) in zip(self.tables, growth) {
            for container in table.containers { containerGrowth[container] += count }
        }
        var copied = 0
        var nextContainer = 0
        func copy(to end: Int) {
            result += self.bytes[copied..<end]
            copied = end
        }
        func writeContainers(before end: Int) throws(Objection) {
            while nextContainer < self.containers.count, self.containers[nextContainer].place < end {
                let container = self.containers[nextContainer]
                copy(to: container.place)
                let length = container.header.boxLength + containerGrowth[nextContainer]
                let header = try Self.header(container.header.type, container.header.lengthField, length)
                result += header
                copied = container.place + header.count
                nextContainer += 1
            }
        }
        for (index, table) in self.tables.enumerated() {
            try writeContainers(before: table.place)
            copy(to: table.place)
            let type = widened[index] ? "co64" : table.header.type
            let header = try Self.header(type, table.header.lengthField, table.header.boxLength + growth[index])
            result += header
            copied = table.place + header.count
            copy(to: table.entries.lowerBound)
            for place in stride(from: table.entries.lowerBound, to: table.entries.upperBound, by: table.entryLength) {
                let offset = self.offset(at: place, wide: table.isWide)
                guard let moved = displacement.moved(offset, movieLength: length) else { throw .damaged }
                if table.isWide || widened[index] {
                    moved.appendBigEndian(to: &result)
                } else {
                    guard let narrow = UInt32(exactly: moved) else { throw .damaged }
                    narrow.appendBigEndian(to: &result)
                }
            }
            copied = table.entries.upperBound
        }
        try writeContainers(before: self.bytes.count)
        copy(to: self.bytes.count)
        guard UInt64(result.count) == length else { throw .damaged }
        return result
    }

    /// The header of a box, of the same form and length as before.
    private static func header(
        _ type: BoxType,
        _ field: BoxHeader.LengthField,
        _ length: UInt64
    ) throws(Objection) -> [UInt8] {
        switch field {
        case .bits64:
            return UInt32(1).bigEndianBytes + type.code.bigEndianBytes + length.bigEndianBytes
        case .bits32, .toTheEnd:
            // In front of the media, nothing reaches to the end of the file.
            guard let length = UInt32(exactly: length) else { throw .damaged }
            return length.bigEndianBytes + type.code.bigEndianBytes
        }
    }
}
