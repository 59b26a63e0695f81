import Testing

@testable import FileServing

@Suite struct MediaTypeTests {
    @Test(arguments: [
        ("a.m4a", "audio/mp4"), ("a.M4A", "audio/mp4"), ("a.b.mp3", "audio/mpeg"), ("a.mov", "video/quicktime"),
        ("a.png", "image/png"), ("notes.TXT", "text/plain; charset=utf-8"), ("a.json", "application/json"),
        ("", "application/octet-stream"), ("a", "application/octet-stream"), ("m4a", "application/octet-stream"),
        (".m4a", "application/octet-stream"), ("a.", "application/octet-stream"), ("a.xyz", "application/octet-stream"),
        ("a.m4a ", "application/octet-stream"), ("a.\u{212A}", "application/octet-stream"),
        ("a.mp\u{301}3", "application/octet-stream"),
    ])
    func `the end of a name decides`(name: String, type: String) {
        #expect(MediaType.of(fileName: name).text == type)
    }

    /// Types that browsers show as a page, run as a script or use as a style sheet.
    @Test(arguments: [
        "a.html", "a.HTM", "a.xhtml", "a.xht", "a.shtml", "a.xml", "a.xsl", "a.xslt", "a.svg", "a.SVG", "a.js", "a.mjs",
        "a.cjs", "a.css", "a.wasm", "a.mht", "a.mhtml", "a.swf", "a.webmanifest", "a.svgz", "a.htc", "a.hta", "a.pdf",
        "a.rdf", "a.atom", "a.rss", "a.vbs", "a",
    ])
    func `what could run is a download, and no type that runs`(name: String) {
        let type = MediaType.of(fileName: name)
        #expect(type.disposition == .attachment)
        let harmless = ["text/plain; charset=utf-8", "application/octet-stream", "image/svg+xml", "application/pdf"]
        #expect(harmless.contains(type.text))
    }

    @Test func `sound and movies are shown in place`() {
        for name in ["a.m4a", "a.mp3", "a.flac", "a.ogg", "a.wav", "a.mp4", "a.mov", "a.webm"] {
            #expect(MediaType.of(fileName: name).isAudible, "\(name)")
            #expect(MediaType.of(fileName: name).disposition == .inline, "\(name)")
        }
        for name in ["a.txt", "a.html", "a", "a.png"] { #expect(!MediaType.of(fileName: name).isAudible, "\(name)") }
        for name in ["a.m4a", "a.m4b", "a.mp4", "a.mov"] { #expect(MediaType.of(fileName: name).hasMovieIndex) }
        for name in ["a.mp3", "a.txt", "a.webm"] { #expect(!MediaType.of(fileName: name).hasMovieIndex) }
    }

    @Test(arguments: [
        ("a.txt", "inline; filename=\"a.txt\"; filename*=UTF-8''a.txt"),
        ("a\"b\\c%.bin", "attachment; filename=\"a_b_c_.bin\"; filename*=UTF-8''a%22b%5Cc%25.bin"),
        ("é; x.txt", "inline; filename=\"_; x.txt\"; filename*=UTF-8''%C3%A9%3B%20x.txt"),
        ("a\r\nb", "attachment; filename=\"a__b\"; filename*=UTF-8''a%0D%0Ab"),
    ])
    func `a name cannot break out of its field`(name: String, value: String) {
        #expect(MediaType.of(fileName: name).contentDisposition(fileName: name) == value)
    }
}
