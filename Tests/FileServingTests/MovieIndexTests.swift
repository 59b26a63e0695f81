import MergeModel
import Testing

@testable import FileServing

@Suite struct MovieIndexTests {
    private typealias Make = BoxBytes

    private static func reason(_ bytes: [UInt8]) -> MovieIndex.Reason? {
        guard case .asIs(let reason) = MovieIndex.arrangement(of: SparseBytes(bytes)) else { return nil }
        return reason
    }

    private static func served(_ source: SparseBytes) throws -> ServedBytes {
        guard case .indexInFront(let file) = MovieIndex.arrangement(of: source) else {
            throw NotRearranged(arrangement: MovieIndex.arrangement(of: source))
        }
        return ServedBytes(file: file, source: source)
    }

    private struct NotRearranged: Error {
        var arrangement: MovieIndex.Arrangement
    }

    /// A file with media in `mdat` and a track for each list of places in them.
    private static func file(
        places: [[Int]] = [[0, 100, 200]],
        wide: Bool = false,
        mediaHeader: ([UInt8]) -> [UInt8] = { BoxBytes.box("mdat", $0) },
        front: [UInt8] = BoxBytes.fileType,
        movie: ([[UInt8]]) -> [UInt8] = { BoxBytes.movie($0.map { BoxBytes.track($0) }) },
        back: [UInt8] = []
    ) -> [UInt8] {
        let media = (0..<1_000).map { UInt8(truncatingIfNeeded: $0 * 7 ^ $0 >> 3) }
        let box = mediaHeader(media)
        let start = front.count + box.count - media.count
        let tables = places.map { places in
            let offsets = places.map { UInt64(start + $0) }
            return wide ? BoxBytes.co64(offsets) : BoxBytes.stco(offsets)
        }
        return front + box + movie(tables) + back
    }

    /// Both have the same boxes, apart from the place of `moov`, and the same chunks.
    private static func check(_ source: SparseBytes, _ served: ServedBytes) throws {
        let before = try NaiveMovie.boxes(source).map(\.type)
        let after = try NaiveMovie.boxes(served).map(\.type)
        var expected = before.filter { $0 != "moov" }
        expected.insert("moov", at: before.first == "ftyp" ? 1 : 0)
        #expect(after == expected)
        #expect(try NaiveMovie.chunks(served) == NaiveMovie.chunks(source))
    }

    @Test func `the index comes behind ftyp, with the chunks where it says`() throws {
        let source = SparseBytes(Self.file())
        let served = try Self.served(source)
        #expect(served.length == source.length)
        #expect(try NaiveMovie.boxes(served).map(\.type) == ["ftyp", "moov", "mdat"])
        try Self.check(source, served)
        // All but the offsets is as it was.
        let movie = try #require(try NaiveMovie.boxes(source).last)
        let moved = movie.end - movie.start
        #expect(try NaiveMovie.offsets(served) == NaiveMovie.offsets(source).map { $0.map { $0 + moved } })
        #expect(served.file.segments.count == 3)
    }

    @Test(arguments: 0..<9)
    func `every form of a file is served with the same chunks`(form: Int) throws {
        let several = [[0, 300, 600], [100, 400], [200, 500, 700, 984]]
        let forms: [[UInt8]] = [
            Self.file(places: several),
            Self.file(places: several, wide: true),
            Self.file(places: [[]]),
            Self.file(places: []),
            Self.file(places: several, mediaHeader: { Make.longBox("mdat", $0) }),
            Self.file(places: several, movie: { Make.movie($0.map { Make.track($0, long: true) }) }),
            Self.file(front: Make.fileType + Make.box("free", [0, 0]) + Make.box("wide")),
            Self.file(front: Make.box("wide"), back: Make.box("skip", [1]) + Make.uuid(MovieBox.harmlessExtendedType)),
            Self.file(
                movie: { tables in
                    let movie = Make.movie(tables.map { Make.track($0) })
                    return [0, 0, 0, 0] + movie.dropFirst(4)
                }
            ),
        ]
        let source = SparseBytes(forms[form])
        let served = try Self.served(source)
        #expect(served.length == source.length)
        try Self.check(source, served)
    }

    @Test func `media on both sides of the index keep their chunks`() throws {
        let front = Make.fileType + Make.box("mdat", Array(repeating: 1, count: 50), Array(2..<52))
        func movie(_ length: Int) -> [UInt8] {
            let behind = UInt64(front.count + length + 8)
            let first = UInt64(Make.fileType.count + 8)
            return Make.movie([
                Make.track(Make.stco([first, behind, first + 60])), Make.track(Make.co64([behind + 20])),
            ])
        }
        let index = movie(movie(0).count)
        let source = SparseBytes(front + index + Make.box("mdat", Array(60..<100)))
        let served = try Self.served(source)
        try Self.check(source, served)
        let offsets = try NaiveMovie.offsets(served)
        // What is behind the index stays where it is.
        #expect(offsets[0][1] == UInt64(front.count + index.count + 8))
    }

    @Test func `offsets before ftyp ends and where the media end are moved like their bytes`() throws {
        let media = Array(repeating: UInt8(5), count: 40)
        let end = UInt64(Make.fileType.count + 8 + media.count)
        let movie = Make.movie([Make.track(Make.stco([0, end]))])
        let served = try Self.served(SparseBytes(Make.fileType + Make.box("mdat", media) + movie))
        #expect(try NaiveMovie.offsets(served) == [[0, end + UInt64(movie.count)]])
    }

    // MARK: - Served as they are

    @Test func `what needs no change is left alone`() {
        let index = Make.movie([Make.track(Make.stco([200]))])
        let media = Make.box("mdat", Array(repeating: 1, count: 500))
        #expect(Self.reason(Make.fileType + index + media) == .alreadyInFront)
        #expect(Self.reason(Make.fileType + index) == .alreadyInFront)
        #expect(Self.reason(Make.fileType + Make.box("free") + index + media) == .alreadyInFront)
    }

    @Test(
        arguments: [
            [], [0], Array("ID3\u{4}".utf8), Array("RIFF....WAVEfmt ".utf8), Array(repeating: 0, count: 64),
            Array(repeating: 0xFF, count: 64), Array("fLaC".utf8), BoxBytes.box("abcd"), BoxBytes.fileType,
            BoxBytes.fileType + BoxBytes.box("free"),
        ] as [[UInt8]]
    )
    func `what is no movie is left alone`(bytes: [UInt8]) {
        #expect(Self.reason(bytes) == .notAMovie)
    }

    @Test func `a movie in fragments is left alone`() {
        for type in ["moof", "mfra", "sidx", "ssix", "styp", "emsg", "prft"] {
            #expect(Self.reason(Self.file(back: Make.box(type, [0, 0, 0, 0]))) == .fragmented, "\(type)")
            #expect(Self.reason(Self.file(front: Make.fileType + Make.box(type))) == .fragmented, "\(type)")
        }
        let extended = Self.file(movie: { Make.movie($0.map { Make.track($0) }, extra: Make.box("mvex")) })
        #expect(Self.reason(extended) == .fragmented)
    }

    /// Boxes that hold file offsets, and some of which nobody knows.
    @Test(arguments: ["gps ", "cmov", "rmra", "uuid", "moof", "trex", "abcd", "\0\0\0\0"])
    func `an unknown box in the index leaves it alone`(type: String) {
        let extra = type == "uuid" ? Make.uuid(Array(repeating: 7, count: 16)) : Make.box(type, [0, 0, 0, 0])
        let bytes = Self.file(movie: { Make.movie($0.map { Make.track($0) }, extra: extra) })
        #expect(Self.reason(bytes) == .unknownBox(BoxType(stringLiteral: type)))
    }

    @Test(arguments: ["saio", "saiz", "senc", "abcd"])
    func `an unknown box beside the chunk offsets leaves it alone`(type: String) {
        let bytes = Self.file(movie: { tables in
            Make.movie(tables.map { Make.track($0 + Make.box(type, [0, 0, 0, 0, 0, 0, 0, 0])) })
        })
        #expect(Self.reason(bytes) == .unknownBox(BoxType(stringLiteral: type)))
    }

    @Test(arguments: ["iloc", "iinf", "pitm", "idat"])
    func `metadata that refer to places leave the movie alone, wherever they stand`(type: String) {
        let handler = Make.box("hdlr", Array(repeating: 0, count: 20))
        let inner = Make.box(type, [0, 0, 0, 0])
        let iso = Make.box("meta", [0, 0, 0, 0], handler, inner)
        let quickTime = Make.box("meta", handler, inner)
        for meta in [iso, quickTime] {
            for extra in [meta, Make.box("udta", meta), Make.box("udta", Make.box("name", [1]), meta, [0, 0, 0, 0])] {
                let bytes = Self.file(movie: { Make.movie($0.map { Make.track($0) }, extra: extra) })
                #expect(Self.reason(bytes) == .unknownBox(BoxType(stringLiteral: type)))
            }
        }
        #expect(Self.reason(Self.file(back: iso)) == .unknownBox("meta"))
    }

    @Test func `harmless metadata do not matter`() throws {
        let handler = Make.box("hdlr", Array(repeating: 0, count: 20))
        let list = Make.box("ilst", Array("anything at all".utf8))
        let extras = [
            Make.box("meta", [0, 0, 0, 0], handler, list), Make.box("meta", handler, Make.box("keys"), list),
            Make.box("udta", Make.box("meta", [0, 0, 0, 0], handler, list), Make.box("chpl", [1, 2])),
            Make.box("udta", Make.box("name", Array("x".utf8)), [0, 0, 0, 0]), Make.box("udta"),
            Make.uuid(MovieBox.harmlessExtendedType, [1]),
        ]
        for extra in extras {
            let source = SparseBytes(Self.file(movie: { Make.movie($0.map { Make.track($0) }, extra: extra) }))
            try Self.check(source, try Self.served(source))
        }
    }

    @Test func `media in another file leave it alone`() {
        let bytes = Self.file(movie: { tables in
            Make.movie(tables.map { Make.track($0, dref: Make.dref(selfContained: false)) })
        })
        #expect(Self.reason(bytes) == .externalMedia)
    }

    @Test func `damage leaves it alone`() {
        let good = Self.file()
        let table = Make.stco([50])
        func movie(_ table: [UInt8]) -> [UInt8] {
            Make.fileType + Make.box("mdat", Array(repeating: 1, count: 500)) + Make.movie([Make.track(table)])
        }
        #expect(Self.reason(movie(table)) == nil)
        let damaged: [(String, [UInt8])] = [
            ("cut", Array(good.dropLast())), ("a rest", good + [0, 0, 0]),
            ("a rest of zeros with a length", good + [0, 0, 0, 7, 1, 1, 1, 1]),
            ("two indices", good + Make.movie([])), ("two ftyp", good + Make.fileType),
            ("media alone", Make.fileType + Make.box("mdat", [1])),
            ("two tables", movie(table + table)), ("both tables", movie(table + Make.co64([50]))),
            ("a table of a wrong count", movie(Make.box("stco", [0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 50]))),
            ("a huge count", movie(Make.box("stco", [0, 0, 0, 0, 255, 255, 255, 255, 0, 0, 0, 50]))),
            ("a count that wraps", movie(Make.box("co64", [0, 0, 0, 0, 32, 0, 0, 0]))),
            ("a short table", movie(Make.box("stco", [0, 0, 0, 0]))),
            ("a table of another version", movie(Make.box("stco", [1, 0, 0, 0, 0, 0, 0, 0]))),
            ("an offset in the index", movie(Make.stco([600]))),
            ("an offset beyond the end", movie(Make.stco([9_000]))),
            ("a huge offset", movie(Make.co64([.max]))), ("a negative offset", movie(Make.co64([1 << 63]))),
            ("a child without length", movie([0, 0, 0, 0] + Array("free".utf8))),
            ("a child too short", movie([0, 0, 0, 7] + Array("free".utf8))),
            ("a child too long", movie([0, 0, 1, 0] + Array("free".utf8))),
            ("a huge child", movie([0, 0, 0, 1] + Array("free".utf8) + Array(repeating: 255, count: 8))),
            ("a cut child", Self.file(movie: { Make.movie($0.map { Make.track($0) }, extra: [0, 0, 0, 8]) })),
        ]
        for (name, bytes) in damaged { #expect(Self.reason(bytes) == .damaged, "\(name)") }
    }

    @Test func `lengths and counts have limits`() {
        let header = UInt32(1).bigEndianBytes + Array("moov".utf8)
        func source(_ length: UInt64) -> SparseBytes {
            let front = Make.fileType + Make.box("mdat", [1, 2, 3])
            let start = UInt64(front.count)
            return SparseBytes(length: start + length, [(0, front), (start, header + length.bigEndianBytes)])
        }
        #expect(MovieIndex.arrangement(of: source(MovieIndex.movieByteCountMax + 1)) == .asIs(.tooLarge))
        #expect(MovieIndex.arrangement(of: source(1 << 62)) == .asIs(.tooLarge))

        let many = Array(repeating: Make.box("free"), count: MovieIndex.topLevelBoxCountMax).flatMap { $0 }
        #expect(Self.reason(Make.fileType + many) == .tooLarge)
        let boxes = Array(repeating: Make.box("free"), count: MovieBox.boxCountMax).flatMap { $0 }
        #expect(Self.reason(Self.file(movie: { Make.movie($0.map { Make.track($0) }, extra: boxes) })) == .tooLarge)
    }

    @Test func `the greatest length of a file does not trap`() {
        let front = Make.fileType + UInt32(1).bigEndianBytes + Array("mdat".utf8)
        for length in [UInt64.max, 1 << 63, UInt64.max - 20] {
            let box = (length - UInt64(Make.fileType.count)).bigEndianBytes
            #expect(MovieIndex.arrangement(of: SparseBytes(length: length, [(0, front + box)])) == .asIs(.damaged))
            #expect(
                MovieIndex.arrangement(of: SparseBytes(length: length, [(0, front + UInt64.max.bigEndianBytes)]))
                    == .asIs(.damaged)
            )
        }
    }

    // MARK: - Offsets that become too great

    /// Media of over 4 GiB with tables whose last chunks are around the end of 32 bits.
    private static func large(_ lasts: [[UInt64]], wide: [Bool]? = nil) -> SparseBytes {
        let front = Make.fileType + UInt32(1).bigEndianBytes + Array("mdat".utf8)
        let mediaLength: UInt64 = (1 << 32) + 4_096
        let movieStart = UInt64(Make.fileType.count) + mediaLength
        let tables = lasts.enumerated().map { index, offsets in
            Make.track(wide?[index] == true ? Make.co64(offsets) : Make.stco(offsets))
        }
        let movie = Make.movie(tables)
        // Each chunk begins with bytes of its own.
        let chunks = Set(lasts.flatMap { $0 }).sorted().map { ($0, ($0 &* 0x9E37_79B9_7F4A_7C15).bigEndianBytes) }
        return SparseBytes(
            length: movieStart + UInt64(movie.count),
            [(0, front + mediaLength.bigEndianBytes)] + chunks + [(movieStart, movie)]
        )
    }

    /// Tries every choice of tables to widen and returns the smallest in which all offsets fit.
    private static func smallestWidening(_ lasts: [[UInt64]], movieLength: UInt64) -> Int? {
        let choices = (0..<(1 << lasts.count)).filter { choice in
            let growth = lasts.indices.filter { choice & 1 << $0 != 0 }.map { 4 * lasts[$0].count }.reduce(0, +)
            return lasts.indices.allSatisfy { index in
                choice & 1 << index != 0
                    || lasts[index].allSatisfy { $0 + movieLength + UInt64(growth) <= UInt64(UInt32.max) }
            }
        }
        return choices.min { $0.nonzeroBitCount < $1.nonzeroBitCount }
    }

    @Test func `a table is widened if and only if an offset no longer fits`() throws {
        let length = UInt64(Make.movie([Make.track(Make.stco([0, 0]))]).count)
        let last = UInt64(UInt32.max) - length
        for (offset, isWidened) in [(last - 1, false), (last, false), (last + 1, true), (UInt64(UInt32.max), true)] {
            let source = Self.large([[100, offset]])
            let served = try Self.served(source)
            #expect(served.length == source.length + (isWidened ? 8 : 0))
            #expect(try NaiveMovie.chunks(served, byteCount: 8) == NaiveMovie.chunks(source, byteCount: 8))
            let boxes = try NaiveMovie.boxes(served)
            #expect(boxes.map(\.type) == ["ftyp", "moov", "mdat"])
            #expect(boxes.last?.end == served.length)
        }
    }

    @Test func `widening one table can make another too narrow, and so on`() throws {
        let empty = Make.movie((0..<4).map { _ in Make.track(Make.stco([0, 0])) })
        let last = UInt64(UInt32.max) - UInt64(empty.count)
        // The first does not fit; its growth of 8 pushes the second over, and so on; the last one just fits.
        let lasts: [[UInt64]] = [[40, last + 1], [41, last - 7], [42, last - 15], [43, last - 24]]
        for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]] {
            let source = Self.large(order.map { lasts[$0] })
            let served = try Self.served(source)
            #expect(served.length == source.length + 24)
            #expect(try NaiveMovie.chunks(served, byteCount: 8) == NaiveMovie.chunks(source, byteCount: 8))
        }
    }

    @Test(arguments: 0..<40 as Range<UInt64>)
    func `no smaller choice of tables would do`(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let count = Int.random(in: 1...6, using: &random)
        let sizes = (0..<count).map { _ in Int.random(in: 1...8, using: &random) }
        let movie = Make.movie(sizes.map { Make.track(Make.stco(Array(repeating: 0, count: $0))) })
        let last = UInt64(UInt32.max) - UInt64(movie.count)
        let lasts = sizes.map { size in
            (0..<size).map { _ in
                UInt64(Int64(last) + Int64.random(in: -120...30, using: &random)) & ~7 | UInt64(size % 8)
            }
        }
        let source = Self.large(lasts)
        let served = try Self.served(source)
        let choice = try #require(Self.smallestWidening(lasts, movieLength: UInt64(movie.count)))
        let growth = sizes.indices.filter { choice & 1 << $0 != 0 }.map { 4 * sizes[$0] }.reduce(0, +)
        #expect(served.length == source.length + UInt64(growth), "seed \(seed)")
        let moved = try NaiveMovie.offsets(served)
        let expected = lasts.map { $0.map { $0 + UInt64(movie.count + growth) } }
        #expect(moved == expected, "seed \(seed)")
    }
}
