import MergeModel
import Testing

@testable import FileServing

@Suite struct ByteRangesTests {
    private static let now = HTTPDate(secondsSince1970: 1_796_040_000)
    private static let boundary = MultipartBoundary(high: 1, low: 2)

    private static func select(
        _ range: [String],
        length: UInt64 = 10_000,
        ifRange: [String] = [],
        method: String = "GET",
        validators: Validators = Validators(
            entityTag: EntityTag("a"),
            lastModified: HTTPDate(secondsSince1970: 784_111_777)
        )
    ) -> ByteRanges.Selection {
        ByteRanges.select(
            method: method,
            range: range,
            ifRange: ifRange,
            length: length,
            contentType: "audio/mp4",
            validators: validators,
            boundary: self.boundary,
            now: self.now
        )
    }

    /// The bytes of a selection in short: `whole`, `416`, or the `Content-Range` of each part.
    private static func summary(_ selection: ByteRanges.Selection) -> String {
        switch selection {
        case .whole: return "whole"
        case .part(let range): return range.fieldValue
        case .unsatisfiable(let range): return "416 \(range)"
        case .parts(let parts):
            return parts.pieces.compactMap { piece -> String? in
                guard case .content(let range) = piece else { return nil }
                return "\(range.lowerBound)-\(range.upperBound - 1)"
            }.joined(separator: ",")
        }
    }

    @Test(arguments: [
        // The examples of RFC 9110, section 14.1.2, of 10000 bytes.
        ("bytes=0-499", "bytes 0-499/10000"),
        ("bytes=500-999", "bytes 500-999/10000"),
        ("bytes=-500", "bytes 9500-9999/10000"),
        ("bytes=9500-", "bytes 9500-9999/10000"),
        ("bytes=0-0,-1", "0-0,9999-9999"),
        ("bytes= 0-999, 4500-5499, -1000", "0-999,4500-5499,9000-9999"),
        ("bytes=500-600,601-999", "bytes 500-999/10000"),
        ("bytes=500-700,601-999", "bytes 500-999/10000"),
        // One range.
        ("bytes=0-", "bytes 0-9999/10000"),
        ("bytes=0-0", "bytes 0-0/10000"),
        ("bytes=9999-9999", "bytes 9999-9999/10000"),
        ("bytes=9999-", "bytes 9999-9999/10000"),
        ("bytes=0-9999", "bytes 0-9999/10000"),
        ("bytes=0-10000", "bytes 0-9999/10000"),
        ("bytes=9990-20000", "bytes 9990-9999/10000"),
        ("bytes=-1", "bytes 9999-9999/10000"),
        ("bytes=-10000", "bytes 0-9999/10000"),
        ("bytes=-10001", "bytes 0-9999/10000"),
        ("bytes=000-0009", "bytes 0-9/10000"),
        // The unit in any case, white space and empty elements.
        ("BYTES=0-9", "bytes 0-9/10000"),
        ("Bytes=0-9", "bytes 0-9/10000"),
        (" bytes=0-9 ", "bytes 0-9/10000"),
        ("bytes=\t0-9\t", "bytes 0-9/10000"),
        ("bytes=,,0-9,", "bytes 0-9/10000"),
        ("bytes=0-9 , , 20-29", "0-9,20-29"),
        // Unsatisfiable.
        ("bytes=10000-", "416 bytes */10000"),
        ("bytes=10000-10001", "416 bytes */10000"),
        ("bytes=-0", "416 bytes */10000"),
        ("bytes=-0,10000-", "416 bytes */10000"),
        ("bytes=20000-,0-9", "bytes 0-9/10000"),
        ("bytes=-0,0-9", "bytes 0-9/10000"),
        // Several: the order of the request, without those that are merged or unsatisfiable.
        ("bytes=20-29,0-9", "20-29,0-9"),
        ("bytes=-10,0-9,20000-,5-15", "9990-9999,0-15"),
        ("bytes=30-39,0-9,35-49", "30-49,0-9"),
        ("bytes=0-9,11-19", "0-9,11-19"),
        ("bytes=0-9,10-19", "bytes 0-19/10000"),
        ("bytes=10-19,0-9", "bytes 0-19/10000"),
        ("bytes=0-99,10-19", "bytes 0-99/10000"),
        ("bytes=0-9,0-9,0-9", "bytes 0-9/10000"),
        ("bytes=0-,-1", "bytes 0-9999/10000"),
        ("bytes=50-59,0-9,20-29,5-24", "50-59,0-29"),
        // Over 64 bits.
        ("bytes=18446744073709551615-", "416 bytes */10000"),
        ("bytes=18446744073709551616-", "416 bytes */10000"),
        ("bytes=0-18446744073709551615", "bytes 0-9999/10000"),
        ("bytes=0-99999999999999999999999999999999", "bytes 0-9999/10000"),
        ("bytes=-99999999999999999999999999999999", "bytes 0-9999/10000"),
        ("bytes=99999999999999999999-99999999999999999999", "416 bytes */10000"),
        ("bytes=99999999999999999999-99999999999999999998", "whole"),
        ("bytes=00000000000000000000000000000001-2", "bytes 1-2/10000"),
        // Ignored.
        ("bytes", "whole"), ("bytes=", "whole"), ("bytes=,", "whole"), ("bytes= ", "whole"), ("", "whole"),
        ("=0-9", "whole"), ("items=0-9", "whole"), ("none", "whole"), ("bytes =0-9", "whole"), ("byte=0-9", "whole"),
        ("bytes=-", "whole"), ("bytes=9-0", "whole"), ("bytes=0-9,9-0", "whole"), ("bytes=a-b", "whole"),
        ("bytes=0-9,x", "whole"), ("bytes=0 - 9", "whole"), ("bytes=0-9-", "whole"), ("bytes=--9", "whole"),
        ("bytes=+0-9", "whole"), ("bytes=0-+9", "whole"), ("bytes=0x0-0x9", "whole"), ("bytes=1", "whole"),
        ("bytes=0-9;20-29", "whole"), ("bytes=0-9 20-29", "whole"), ("bytes=\u{661}-9", "whole"),
        ("bytes=0-9, bytes=20-29", "whole"), ("bytes==0-9", "whole"), ("bytes:0-9", "whole"),
    ])
    func `a range selects`(field: String, expected: String) {
        #expect(Self.summary(Self.select([field])) == expected)
    }

    @Test(arguments: [
        ("bytes=0-", "416 bytes */0"), ("bytes=0-0", "416 bytes */0"), ("bytes=-0", "416 bytes */0"),
        ("bytes=-1", "whole"), ("bytes=5-,-1", "whole"), ("bytes=1-0", "whole"), ("items=0-0", "whole"),
    ])
    func `of nothing, only the last bytes can be had`(field: String, expected: String) {
        #expect(Self.summary(Self.select([field], length: 0)) == expected)
    }

    @Test func `the greatest length does not overflow`() {
        let length = UInt64.max
        let last = "18446744073709551614-18446744073709551614/18446744073709551615"
        #expect(Self.summary(Self.select(["bytes=-1"], length: length)) == "bytes \(last)")
        #expect(Self.summary(Self.select(["bytes=18446744073709551614-"], length: length)) == "bytes \(last)")
        #expect(
            Self.summary(Self.select(["bytes=18446744073709551615-"], length: length))
                == "416 bytes */18446744073709551615"
        )
        // The parts and their headers have more bytes than can be counted.
        #expect(Self.select(["bytes=0-9,11-"], length: length) == .whole)
    }

    @Test func `over the greatest number of ranges, the whole is sent`() {
        func field(_ count: Int) -> String {
            "bytes=" + (0..<count).map { "\($0 * 10)-\($0 * 10)" }.joined(separator: ",")
        }
        let most = Self.summary(Self.select([field(ByteRanges.rangeCountMax)]))
        #expect(most.split(separator: ",").count == ByteRanges.rangeCountMax)
        #expect(Self.select([field(ByteRanges.rangeCountMax + 1)]) == .whole)
    }

    @Test func `without the field, with two of it or with another method there is no range`() {
        #expect(Self.select([]) == .whole)
        #expect(Self.select(["bytes=0-9", "bytes=20-29"]) == .whole)
        for method in ["HEAD", "PUT", "POST", "DELETE", "get"] {
            #expect(Self.select(["bytes=0-9"], method: method) == .whole)
        }
    }

    @Test(arguments: [
        (["\"a\""], true), ([" \"a\" "], true), (["\"b\""], false), (["W/\"a\""], false), (["\"a\", \"b\""], false),
        (["*"], false), (["a"], false), ([""], false), (["\"a\"", "\"a\""], false),
        (["Sun, 06 Nov 1994 08:49:37 GMT"], true), (["Sunday, 06-Nov-94 08:49:37 GMT"], true),
        (["Sun Nov  6 08:49:37 1994"], true), (["Sun, 06 Nov 1994 08:49:38 GMT"], false),
        (["Sun, 06 Nov 1994 08:49:36 GMT"], false), (["today"], false),
    ])
    func `If-Range lets a range through for exactly this state`(ifRange: [String], isMet: Bool) {
        #expect(Self.summary(Self.select(["bytes=0-9"], ifRange: ifRange)) == (isMet ? "bytes 0-9/10000" : "whole"))
        // Without the condition 416, with an unmet one the whole.
        let beyond = Self.summary(Self.select(["bytes=10000-"], ifRange: ifRange))
        #expect(beyond == (isMet ? "416 bytes */10000" : "whole"))
    }

    @Test(arguments: [(-1, true), (0, false), (1, false)])
    func `If-Range with a date waits until its second is over`(seconds: Int64, isMet: Bool) {
        let modified = HTTPDate(secondsSince1970: Self.now.secondsSince1970 + seconds)
        let validators = Validators(entityTag: EntityTag("a"), lastModified: modified)
        let selection = Self.select(["bytes=0-9"], ifRange: [modified.text], validators: validators)
        #expect(Self.summary(selection) == (isMet ? "bytes 0-9/10000" : "whole"))
    }

    @Test func `If-Range does not match what has only a weak tag, or none`() {
        let weak = Validators(entityTag: EntityTag(fieldValue: "W/\"a\""))
        #expect(Self.select(["bytes=0-9"], ifRange: ["W/\"a\""], validators: weak) == .whole)
        #expect(Self.select(["bytes=0-9"], ifRange: ["\"a\""], validators: weak) == .whole)
        #expect(Self.select(["bytes=0-9"], ifRange: ["\"a\""], validators: Validators()) == .whole)
        let date = "Sun, 06 Nov 1994 08:49:37 GMT"
        #expect(Self.select(["bytes=0-9"], ifRange: [date], validators: Validators()) == .whole)
    }

    @Test func `several parts are a body of exactly the stated length`() throws {
        guard case .parts(let parts) = Self.select(["bytes=-3,0-1"], length: 10) else {
            Issue.record("not several parts")
            return
        }
        let content = Array("0123456789".utf8)
        let body = parts.pieces.flatMap { piece -> [UInt8] in
            switch piece {
            case .text(let bytes): bytes
            case .content(let range): Array(content[Int(range.lowerBound)..<Int(range.upperBound)])
            }
        }
        let boundary = "peerd-00000000000000010000000000000002"
        #expect(
            String(decoding: body, as: UTF8.self)
                == "--\(boundary)\r\nContent-Type: audio/mp4\r\nContent-Range: bytes 7-9/10\r\n\r\n789"
                + "\r\n--\(boundary)\r\nContent-Type: audio/mp4\r\nContent-Range: bytes 0-1/10\r\n\r\n01"
                + "\r\n--\(boundary)--\r\n"
        )
        #expect(parts.length == UInt64(body.count))
        #expect(parts.contentType == "multipart/byteranges; boundary=\(boundary)")
    }

    @Test func `boundaries are random, of allowed length and characters`() {
        let first = MultipartBoundary.random()
        #expect(first != .random())
        #expect(first.text.utf8.count <= 70)
        #expect(first.text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") })
    }

    /// Random fields against a model that looks at each byte.
    @Test(arguments: 0..<20 as Range<UInt64>)
    func `each byte that a range names is in one part`(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        for _ in 0..<200 {
            let length = UInt64.random(in: 1...40, using: &random)
            var wanted: Set<UInt64> = []
            let specs = (0..<Int.random(in: 1...6, using: &random)).map { _ -> String in
                let first = UInt64.random(in: 0...45, using: &random)
                let last = first + UInt64.random(in: 0...9, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0:
                    wanted.formUnion((0..<length).filter { $0 >= first })
                    return "\(first)-"
                case 1:
                    wanted.formUnion((0..<length).filter { $0 + first >= length })
                    return "-\(first)"
                default:
                    wanted.formUnion((0..<length).filter { (first...last).contains($0) })
                    return "\(first)-\(last)"
                }
            }
            let field = "bytes=" + specs.joined(separator: ",")
            var ranges: [Range<UInt64>] = []
            switch Self.select([field], length: length) {
            case .whole: Issue.record("\(field) was ignored")
            case .unsatisfiable: break
            case .part(let range): ranges = [range.bytes]
            case .parts(let parts):
                ranges = parts.pieces.compactMap { if case .content(let range) = $0 { range } else { nil } }
                #expect(ranges.count > 1)
            }
            let bytes = ranges.flatMap { Array($0) }
            #expect(Set(bytes) == wanted, "\(field) of \(length), seed \(seed)")
            #expect(bytes.count == wanted.count, "\(field) of \(length) overlaps, seed \(seed)")
        }
    }
}
