/// A file as it is served: ranges of a real file, with bytes from memory between them.
package struct VirtualFile: Equatable, Sendable {
    /// In order, without gaps; none is empty.
    let segments: [Segment]
    package let length: UInt64

    package enum Segment: Equatable, Sendable {
        case memory(ArraySlice<UInt8>)
        /// Bytes of the real file.
        case file(Range<UInt64>)

        var length: UInt64 {
            switch self {
            case .memory(let bytes): UInt64(bytes.count)
            case .file(let range): range.upperBound - range.lowerBound
            }
        }
    }

    /// A part of the tag of a rearranged file; a change to the arrangement changes it.
    private static let entityTagSuffix = "-index1"

    /// The real file as it is.
    package init(wholeFile length: UInt64) {
        self.segments = length == 0 ? [] : [.file(0..<length)]
        self.length = length
    }

    /// nil if the lengths do not add up to a number of 64 bits.
    init?(_ segments: [Segment]) {
        var length: UInt64 = 0
        for segment in segments {
            let (sum, overflow) = length.addingReportingOverflow(segment.length)
            guard !overflow else { return nil }
            length = sum
        }
        self.segments = segments.filter { $0.length > 0 }
        self.length = length
    }

    /// The segments, or parts of them, that make up a range; what is beyond the end is left out.
    package func segments(in range: Range<UInt64>) -> [Segment] {
        var found: [Segment] = []
        var start: UInt64 = 0
        for segment in self.segments {
            let end = start + segment.length
            let wanted = max(start, range.lowerBound)..<max(max(start, range.lowerBound), min(end, range.upperBound))
            if !wanted.isEmpty {
                found.append(segment.part((wanted.lowerBound - start)..<(wanted.upperBound - start)))
            }
            start = end
        }
        return found
    }

    /// The tag of this file, made of that of the real file.
    ///
    /// The bytes differ from the real file's, so a client that resumes one must not get the other. nil if there is no
    /// such tag, which does not happen.
    package func entityTag(for real: EntityTag) -> EntityTag? {
        let isReal = self.segments.allSatisfy { if case .file = $0 { true } else { false } }
        return isReal ? real : real.appending(Self.entityTagSuffix)
    }
}

extension VirtualFile.Segment {
    /// `range` is within the segment.
    fileprivate func part(_ range: Range<UInt64>) -> Self {
        switch self {
        case .memory(let bytes):
            // Both fit: they are at most the count of the array.
            let start = bytes.startIndex + Int(range.lowerBound)
            return .memory(bytes[start..<(start + Int(range.upperBound - range.lowerBound))])
        case .file(let whole):
            return .file((whole.lowerBound + range.lowerBound)..<(whole.lowerBound + range.upperBound))
        }
    }
}
