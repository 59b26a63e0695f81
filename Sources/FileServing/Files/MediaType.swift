/// The way in which a file is sent to a browser, by the end of its name.
///
/// Anybody who can write a file here could otherwise run a page or a script with the rights of the dashboard. So what
/// can run is sent as a download and under a type that browsers do not run, with `X-Content-Type-Options: nosniff`.
/// `Content-Disposition` alone does not stop `<script src>`, `<link rel=stylesheet>` or a service worker.
package struct MediaType: Equatable, Sendable {
    /// The value of the `Content-Type` field.
    package let text: String
    let disposition: Disposition

    package enum Disposition: String, Sendable {
        case inline
        case attachment
    }

    package init(text: String, disposition: Disposition) {
        self.text = text
        self.disposition = disposition
    }

    static let unknown = MediaType(text: "application/octet-stream", disposition: .attachment)

    /// Whether the audio route serves it: sound, and movies for their sound.
    package var isAudible: Bool { self.text.hasPrefix("audio/") || self.text.hasPrefix("video/") }

    /// Whether it is a file for ``MovieIndex``.
    package var hasMovieIndex: Bool { Self.movies.contains(self.text) }

    /// The type of a file with a name.
    package static func of(fileName name: String) -> MediaType {
        guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")), dot != name.startIndex else { return .unknown }
        let end = name[name.utf8.index(after: dot)...]
        // Only ASCII letters: no other letter becomes one of an extension.
        let lowered = end.utf8.map { (0x41...0x5A).contains($0) ? $0 + 0x20 : $0 }
        return self.table[String(decoding: lowered, as: UTF8.self)] ?? .unknown
    }

    /// The value of the `Content-Disposition` field (RFC 6266), with the name in ASCII and in full.
    package func contentDisposition(fileName name: String) -> String {
        let plain = name.unicodeScalars.map { scalar in
            scalar.isASCII && scalar.value >= 0x20 && scalar.value != 0x7F && !"\"\\%".unicodeScalars.contains(scalar)
                ? String(scalar) : "_"
        }
        let encoded = name.utf8.map { byte in
            Self.isAttributeCharacter(byte)
                ? String(UnicodeScalar(byte))
                : "%" + (byte < 0x10 ? "0" : "") + String(byte, radix: 16, uppercase: true)
        }
        return "\(self.disposition.rawValue); filename=\"\(plain.joined())\"; filename*=UTF-8''\(encoded.joined())"
    }

    /// RFC 8187, `attr-char`.
    private static func isAttributeCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: "!#$&+-.^_`|~".utf8.contains(byte)
        }
    }

    private static let movies: Set<String> = ["audio/mp4", "video/mp4", "video/quicktime"]

    private static let table: [String: MediaType] = {
        var table: [String: MediaType] = [:]
        func add(_ disposition: Disposition, _ text: String, _ extensions: String) {
            for name in extensions.split(separator: " ") {
                table[String(name)] = MediaType(text: text, disposition: disposition)
            }
        }
        add(.inline, "audio/mp4", "m4a m4b m4p m4r")
        add(.inline, "audio/mpeg", "mp3 mp2 mpga")
        add(.inline, "audio/aac", "aac adts")
        add(.inline, "audio/ogg", "ogg oga opus spx")
        add(.inline, "audio/flac", "flac")
        add(.inline, "audio/wav", "wav wave")
        add(.inline, "audio/aiff", "aif aiff aifc")
        add(.inline, "audio/webm", "weba")
        add(.inline, "audio/x-caf", "caf")
        add(.inline, "audio/x-matroska", "mka")
        add(.inline, "audio/amr", "amr")
        add(.inline, "video/mp4", "mp4 m4v")
        add(.inline, "video/quicktime", "mov qt")
        add(.inline, "video/webm", "webm")
        add(.inline, "video/ogg", "ogv")
        add(.inline, "video/x-matroska", "mkv")
        add(.inline, "image/png", "png")
        add(.inline, "image/apng", "apng")
        add(.inline, "image/jpeg", "jpg jpeg jpe")
        add(.inline, "image/gif", "gif")
        add(.inline, "image/webp", "webp")
        add(.inline, "image/avif", "avif")
        add(.inline, "image/bmp", "bmp")
        add(.inline, "image/x-icon", "ico")
        add(.inline, "application/json", "json geojson")
        add(.inline, "text/vtt; charset=utf-8", "vtt")
        add(.inline, "text/plain; charset=utf-8", "txt text log md csv tsv srt lrc cue toml yaml yml ini")
        // An image in a page is harmless; as a page of its own it runs scripts.
        add(.attachment, "image/svg+xml", "svg")
        add(.attachment, "text/plain; charset=utf-8", "html htm xhtml xht shtml xml xsl xslt js mjs cjs css")
        add(.attachment, "application/pdf", "pdf")
        add(.attachment, "application/zip", "zip")
        add(.attachment, "application/gzip", "gz tgz")
        return table
    }()
}
