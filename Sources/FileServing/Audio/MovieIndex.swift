/// Puts the index of a movie file (M4A, M4B, MP4, MOV) in front of its media, so that playback can begin at once.
///
/// Recorders and encoders write the index, the `moov` box, when they know everything: behind the media. A player must
/// then fetch the end of the file before it can play the beginning. A virtual file has the same boxes with `moov`
/// behind `ftyp`, and each chunk offset in it corrected. Nothing is decoded, and the file on the disk stays as it is.
///
/// A file that is damaged, or that may hold file offsets which are not known here, is served as it is: a slow start is
/// better than wrong bytes. All of a file is untrusted: counts and sizes have limits, and no arithmetic can trap.
package enum MovieIndex {
    /// The greatest number of boxes beside each other in a file.
    static let topLevelBoxCountMax = 1_024
    /// The greatest `moov` box that is taken into memory.
    ///
    /// Ten hours of audio need about 10 MB.
    static let movieByteCountMax: UInt64 = 64 << 20

    /// The way to serve a file; reads its boxes from the disk.
    package static func served(_ file: OpenFile) throws(FileTreeError) -> VirtualFile {
        try self.arrangement(of: file).file(ofLength: file.length)
    }

    enum Arrangement: Equatable, Sendable {
        case asIs(Reason)
        case indexInFront(VirtualFile)

        func file(ofLength length: UInt64) -> VirtualFile {
            switch self {
            case .asIs: VirtualFile(wholeFile: length)
            case .indexInFront(let file): file
            }
        }
    }

    /// The reason why a file is served as it is.
    enum Reason: Error, Equatable {
        /// The index is in front, or there are no media.
        case alreadyInFront
        case notAMovie
        /// The media are in fragments, each with an index of its own.
        case fragmented
        /// A box that is known to hold file offsets, or of which it is not known whether it does.
        case unknownBox(BoxType)
        /// The media are in another file.
        case externalMedia
        case tooLarge
        case damaged
    }

    /// Looks at the boxes of a file and decides how to serve it; throws only what `source` throws.
    static func arrangement<Source: RandomAccessBytes>(of source: Source) throws(Source.Failure) -> Arrangement {
        let layout: Layout
        switch try self.layout(of: source) {
        case .failure(let reason): return .asIs(reason)
        case .success(let found): layout = found
        }
        let range = layout.movie.range
        guard range.upperBound - range.lowerBound <= self.movieByteCountMax else { return .asIs(.tooLarge) }
        let bytes = try source.read(Int(range.upperBound - range.lowerBound), at: range.lowerBound)
        // The file may have become shorter, or another one, meanwhile.
        guard UInt64(bytes.count) == range.upperBound - range.lowerBound,
            BoxHeader(bytes, available: UInt64(bytes.count)) == layout.movie.header
        else { return .asIs(.damaged) }
        do {
            let movie = try MovieBox(bytes)
            let displacement = Displacement(insertion: layout.insertion, movie: range, fileLength: source.length)
            let moved = try movie.moved(by: displacement)
            let segments: [VirtualFile.Segment] = [
                .file(0..<layout.insertion), .memory(moved[...]),
                .file(layout.insertion..<range.lowerBound), .file(range.upperBound..<source.length),
            ]
            return VirtualFile(segments).map { .indexInFront($0) } ?? .asIs(.damaged)
        } catch {
            return .asIs(error)
        }
    }

    /// The places that matter for the arrangement.
    private struct Layout {
        /// The end of `ftyp`, where the index goes.
        var insertion: UInt64
        var movie: (header: BoxHeader, range: Range<UInt64>)
    }

    /// The boxes that may stand beside each other, apart from `uuid`; none of them holds file offsets.
    private static let plainTypes: Set<BoxType> = ["ftyp", "moov", "mdat", "free", "skip", "wide", "pnot", "PICT"]
    private static let fragmentTypes: Set<BoxType> = ["moof", "mfra", "styp", "sidx", "ssix", "prft", "emsg"]

    private static func layout<Source: RandomAccessBytes>(
        of source: Source
    ) throws(Source.Failure) -> Result<Layout, Reason> {
        var place: UInt64 = 0
        var insertion: UInt64 = 0
        var movie: (header: BoxHeader, range: Range<UInt64>)?
        var hasMedia = false
        var hasMediaBefore = false
        for boxCount in 0... {
            if place == source.length { break }
            guard boxCount < self.topLevelBoxCountMax else { return .failure(.tooLarge) }
            let available = source.length - place
            let bytes = try source.read(Int(min(available, UInt64(BoxHeader.lengthMax))), at: place)
            guard let header = BoxHeader(bytes, available: available) else {
                return .failure(boxCount == 0 ? .notAMovie : .damaged)
            }
            if let reason = self.objection(to: header, isFirst: boxCount == 0) {
                return .failure(reason)
            }
            let end = place + header.boxLength
            switch header.type {
            case "ftyp":
                guard boxCount == 0 else { return .failure(.damaged) }
                insertion = end
            case "moov":
                guard movie == nil else { return .failure(.damaged) }
                movie = (header, place..<end)
                hasMediaBefore = hasMedia
            case "mdat":
                hasMedia = true
            default:
                break
            }
            place = end
        }
        guard let movie else { return .failure(hasMedia ? .damaged : .notAMovie) }
        guard hasMediaBefore else { return .failure(.alreadyInFront) }
        return .success(Layout(insertion: insertion, movie: movie))
    }

    private static func objection(to header: BoxHeader, isFirst: Bool) -> Reason? {
        if self.plainTypes.contains(header.type) { return nil }
        if isFirst { return .notAMovie }
        if self.fragmentTypes.contains(header.type) { return .fragmented }
        if header.extendedType == MovieBox.harmlessExtendedType { return nil }
        return .unknownBox(header.type)
    }
}

/// Bytes that can be read at any place.
protocol RandomAccessBytes {
    associatedtype Failure: Error

    var length: UInt64 { get }

    /// Reads some bytes; fewer only at the end.
    func read(_ count: Int, at offset: UInt64) throws(Failure) -> [UInt8]
}

/// The places to which the bytes of a file go when its index is put in front.
struct Displacement: Equatable, Sendable {
    /// The new place of the index.
    let insertion: UInt64
    /// The old place of the index, behind the new one.
    let movie: Range<UInt64>
    let fileLength: UInt64

    /// The new offset of a byte; nil if it was in the index or beyond the end, where no media are.
    ///
    /// `movieLength` is the new length of the index.
    func moved(_ offset: UInt64, movieLength: UInt64) -> UInt64? {
        switch self.region(of: offset) {
        case .inFront: offset
        case .between: self.sum(offset, movieLength)
        case .behind: self.sum(offset - (self.movie.upperBound - self.movie.lowerBound), movieLength)
        case nil: nil
        }
    }

    enum Region {
        case inFront
        case between
        case behind
    }

    func region(of offset: UInt64) -> Region? {
        if offset < self.insertion { return .inFront }
        // A chunk without bytes may begin where the media end.
        if offset <= self.movie.lowerBound { return .between }
        return offset >= self.movie.upperBound && offset <= self.fileLength ? .behind : nil
    }

    private func sum(_ left: UInt64, _ right: UInt64) -> UInt64? {
        let (sum, overflow) = left.addingReportingOverflow(right)
        return overflow ? nil : sum
    }
}
