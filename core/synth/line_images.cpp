// A line is made in six steps: its look, its text, glyphs, one sheet of them, blur, and the painted
// picture. All draw from the line's own generator in this order, which is part of the result.
#include "core/synth/line_images.h"

#include <ft2build.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include FT_FREETYPE_H
#include FT_TRUETYPE_TABLES_H

#include "base/random.h"

namespace ocrtune {
namespace {

// FT_Set_Transform() does not reach embedded bitmaps, so outlines alone are asked for.
constexpr FT_Int32 kLoadFlags = FT_LOAD_RENDER | FT_LOAD_NO_HINTING | FT_LOAD_NO_BITMAP;

struct Glyph {
  int left = 0, top = 0;  // of the bitmap, y downwards, from the line's origin
  int width = 0, height = 0;
  std::vector<std::uint8_t> coverage;
};

std::size_t index_of(int x, int y, int width) {
  return static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
         static_cast<std::size_t>(x);
}

// How one line looks; every number is drawn from the line's own generator.
struct Look {
  std::size_t font = 0;
  int height = 32;
  double fill = 0.8;  // of the height that the text takes
  double rotation = 0, slant = 0;
  double spacing = 0;  // of the text size
  double blur = 0;     // standard deviation in pixels
  double noise = 0;    // standard deviation in grey levels
  double specks = 0;   // share of pixels
  int ink[3] = {0, 0, 0};
  int paper[3] = {255, 255, 255};
  double shade_x = 0, shade_y = 0;  // grey levels from edge to edge
};

void choose_colours(Random& random, Look& look) {
  const bool dark_on_light = random.uniform() < 0.8;
  const double contrast = random.uniform(70, 230);
  const double middle = random.uniform(contrast / 2, 255 - contrast / 2);
  const double bright = middle + contrast / 2, dark = middle - contrast / 2;
  const double tint = random.uniform() < 0.5 ? 0 : 25;
  for (int channel = 0; channel < 3; ++channel) {
    const auto level = [&](double value) {
      return static_cast<int>(std::clamp(value + random.uniform(-tint, tint), 0.0, 255.0));
    };
    look.ink[channel] = level(dark_on_light ? dark : bright);
    look.paper[channel] = level(dark_on_light ? bright : dark);
  }
}

Look choose_look(Random& random, const DrawOptions& options, std::size_t fonts) {
  Look look;
  look.font = static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(fonts) - 1));
  look.height = static_cast<int>(random.integer(options.height, options.height * 3 / 2));
  // These ranges and those of the colours are guesses at what scans and photographs show.
  look.fill = random.uniform(0.62, 0.9);
  const double degrees = std::clamp(random.normal() * 1.2, -3.0, 3.0);
  look.rotation = degrees * std::numbers::pi / 180;
  look.slant = random.uniform() < 0.3 ? random.uniform(-0.2, 0.25) : 0;
  look.spacing = random.uniform(-0.02, 0.08);
  look.blur = random.uniform() < 0.4 ? random.uniform(0.3, 1.1) : 0;
  look.noise = random.uniform() < 0.7 ? random.uniform(1, 14) : 0;
  look.specks = random.uniform() < 0.15 ? random.uniform(0.001, 0.01) : 0;
  choose_colours(random, look);
  if (random.uniform() < 0.4) {
    look.shade_x = random.uniform(-30, 30);
    look.shade_y = random.uniform(-15, 15);
  }
  return look;
}

std::string choose_text(Random& random, const Alphabet& alphabet, const DrawOptions& options) {
  const auto last = static_cast<std::int64_t>(alphabet.characters().size()) - 1;
  const std::int64_t length = random.integer(options.min_length, options.max_length);
  std::string text;
  for (std::int64_t i = 0; i < length; ++i) {
    std::string character;
    // A blank shows only between two characters.
    do {
      character = alphabet.characters()[static_cast<std::size_t>(random.integer(0, last))];
    } while (character == " " && last > 0 && (i == 0 || i == length - 1 || text.back() == ' '));
    text += character;
  }
  return text;
}

FT_ULong code_point(const std::string& character) {
  const auto first = static_cast<unsigned char>(character[0]);
  FT_ULong code = character.size() == 1 ? first : first & (0x7FU >> character.size());
  for (std::size_t i = 1; i < character.size(); ++i) {
    code = code << 6 | (static_cast<unsigned char>(character[i]) & 0x3FU);
  }
  return code;
}

// In place, with the kernel's weights cut at three pixels; edges repeat.
void blur_rows(std::vector<float>& canvas, int width, int height, double stddev) {
  float weights[4];
  float sum = 0;
  for (int i = 0; i < 4; ++i) {
    weights[i] = static_cast<float>(std::exp(-0.5 * i * i / (stddev * stddev)));
    sum += i == 0 ? weights[i] : 2 * weights[i];
  }
  for (float& weight : weights) weight /= sum;
  std::vector<float> padded(static_cast<std::size_t>(width) + 6);
  for (int y = 0; y < height; ++y) {
    float* row = canvas.data() + static_cast<std::ptrdiff_t>(y) * width;
    std::copy(row, row + width, padded.begin() + 3);
    std::fill(padded.begin(), padded.begin() + 3, row[0]);
    std::fill(padded.end() - 3, padded.end(), row[width - 1]);
    for (int x = 0; x < width; ++x) {
      const float* at = padded.data() + x + 3;
      row[x] = weights[0] * at[0] + weights[1] * (at[-1] + at[1]) + weights[2] * (at[-2] + at[2]) +
               weights[3] * (at[-3] + at[3]);
    }
  }
}

std::vector<float> transposed(const std::vector<float>& canvas, int width, int height) {
  std::vector<float> turned(canvas.size());
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) turned[index_of(y, x, height)] = canvas[index_of(x, y, width)];
  }
  return turned;
}

void blur(std::vector<float>& canvas, int width, int height, double stddev) {
  blur_rows(canvas, width, height, stddev);
  std::vector<float> turned = transposed(canvas, width, height);
  blur_rows(turned, height, width, stddev);
  canvas = transposed(turned, height, width);
}

// Four bytes added are nearly normal (Irwin-Hall): deviation 147.8 around 510.
double quick_normal(Random& random) {
  const std::uint64_t bits = random.next();
  double sum = 0;
  for (int shift = 0; shift < 32; shift += 8) sum += static_cast<double>(bits >> shift & 0xFF);
  return (sum - 510) / 147.8;
}

Image paint(Random& random, const Look& look, const std::vector<float>& ink, int width,
            int height) {
  Image image;
  image.width = width;
  image.height = height;
  image.pixels.resize(ink.size() * 3);
  const bool speckled = look.specks > 0;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const std::size_t at = index_of(x, y, width);
      const double shade = look.shade_x * (static_cast<double>(x) / width - 0.5) +
                           look.shade_y * (static_cast<double>(y) / height - 0.5);
      const double noise = look.noise > 0 ? look.noise * quick_normal(random) : 0;
      const bool speck = speckled && random.uniform() < look.specks;
      const double speck_level = speck && random.uniform() < 0.5 ? 0 : 255;
      for (std::size_t channel = 0; channel < 3; ++channel) {
        const double paper = look.paper[channel] + shade;
        const double level = paper + (look.ink[channel] - paper) * ink[at] + noise;
        image.pixels[at * 3 + channel] =
            static_cast<std::uint8_t>(std::clamp(speck ? speck_level : level, 0.0, 255.0));
      }
    }
  }
  return image;
}

// Fonts such as Dingbats have pictures where letters are asked for: class 12 of OpenType's OS/2
// table.
bool has_pictures_for_letters(FT_Face face) {
  constexpr int kSymbolic = 12;
  const auto* table = static_cast<const TT_OS2*>(FT_Get_Sfnt_Table(face, FT_SFNT_OS2));
  return table != nullptr && table->version != 0xFFFF && table->sFamilyClass >> 8 == kSymbolic;
}

}  // namespace

struct LinePainter::State {
  FT_Library library = nullptr;
  std::vector<FT_Face> faces;
  std::vector<std::string> fonts;
  Alphabet alphabet;
  DrawOptions options;

  ~State() {
    for (FT_Face face : faces) FT_Done_Face(face);
    if (library != nullptr) FT_Done_FreeType(library);
  }

  void use_font(const std::string& path, std::string& lacking);
  Result<std::vector<Glyph>> render(FT_Face face, const std::string& text, const Look& look);
};

// Keeps the font if it is scalable and has every character.
void LinePainter::State::use_font(const std::string& path, std::string& lacking) {
  FT_Face face = nullptr;
  if (FT_New_Face(library, path.c_str(), 0, &face) != 0) return;
  bool usable = FT_IS_SCALABLE(face) && !has_pictures_for_letters(face) &&
                FT_Select_Charmap(face, FT_ENCODING_UNICODE) == 0;
  for (const std::string& character : alphabet.characters()) {
    if (!usable) break;
    if (FT_Get_Char_Index(face, code_point(character)) != 0) continue;
    usable = false;
    if (lacking.empty()) lacking = character;
  }
  if (!usable) {
    FT_Done_Face(face);
    return;
  }
  faces.push_back(face);
  fonts.push_back(path);
}

Result<std::vector<Glyph>> LinePainter::State::render(FT_Face face, const std::string& text,
                                                      const Look& look) {
  // The tallest glyphs take about 0.95 of the nominal size from top to bottom.
  const double size = look.height * look.fill / 0.95;
  if (FT_Set_Char_Size(face, 0, static_cast<FT_F26Dot6>(size * 64), 72, 72) != 0) {
    return Error{ErrorKind::failed, "FreeType refuses the size"};
  }
  const double cosine = std::cos(look.rotation), sine = std::sin(look.rotation);
  const auto fixed = [](double value) { return static_cast<FT_Fixed>(value * 65536); };
  FT_Matrix matrix = {fixed(cosine), fixed(look.slant * cosine - sine), fixed(sine),
                      fixed(look.slant * sine + cosine)};
  const auto characters = OCRTUNE_TRY(split_characters(text));
  std::vector<Glyph> glyphs;
  double pen = 0;  // along the baseline, in pixels
  for (const std::string& character : characters) {
    FT_Vector origin = {static_cast<FT_Pos>(pen * cosine * 64),
                        static_cast<FT_Pos>(pen * sine * 64)};
    FT_Set_Transform(face, &matrix, &origin);
    if (FT_Load_Char(face, code_point(character), kLoadFlags) != 0) {
      return Error{ErrorKind::failed, "FreeType cannot render '" + character + "'"};
    }
    const FT_GlyphSlot slot = face->glyph;
    const FT_Bitmap& bitmap = slot->bitmap;
    Glyph glyph{slot->bitmap_left,
                -slot->bitmap_top,
                static_cast<int>(bitmap.width),
                static_cast<int>(bitmap.rows),
                {}};
    for (unsigned row = 0; row < bitmap.rows; ++row) {
      const std::uint8_t* start = bitmap.buffer + static_cast<std::ptrdiff_t>(row) * bitmap.pitch;
      glyph.coverage.insert(glyph.coverage.end(), start, start + bitmap.width);
    }
    glyphs.push_back(std::move(glyph));
    pen += static_cast<double>(slot->linearHoriAdvance) / 65536 + look.spacing * size;
  }
  return glyphs;
}

namespace {

// The glyphs on one sheet of `look.height`, scaled by nothing: what does not fit is shifted.
std::vector<float> lay_out(Random& random, const Look& look, const std::vector<Glyph>& glyphs,
                           int& width, int& height) {
  int left = 0, right = 1, top = 0, bottom = 1;
  bool first = true;
  for (const Glyph& glyph : glyphs) {
    if (glyph.width == 0) continue;
    left = first ? glyph.left : std::min(left, glyph.left);
    top = first ? glyph.top : std::min(top, glyph.top);
    right = first ? glyph.left + glyph.width : std::max(right, glyph.left + glyph.width);
    bottom = first ? glyph.top + glyph.height : std::max(bottom, glyph.top + glyph.height);
    first = false;
  }
  const int margin_left = static_cast<int>(random.integer(1, look.height / 4 + 1));
  const int margin_right = static_cast<int>(random.integer(1, look.height / 4 + 1));
  width = right - left + margin_left + margin_right;
  height = std::max(look.height, bottom - top + 2);
  const int shift_y = static_cast<int>(random.integer(1, std::max(1, height - (bottom - top) - 1)));
  std::vector<float> sheet(static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
  for (const Glyph& glyph : glyphs) {
    for (int y = 0; y < glyph.height; ++y) {
      for (int x = 0; x < glyph.width; ++x) {
        const int at_x = glyph.left - left + margin_left + x;
        const int at_y = glyph.top - top + shift_y + y;
        float& ink = sheet[index_of(at_x, at_y, width)];
        const std::size_t from = index_of(x, y, glyph.width);
        // Glyphs may overlap where they slant: the darker one counts.
        ink = std::max(ink, static_cast<float>(glyph.coverage[from]) / 255.0F);
      }
    }
  }
  return sheet;
}

}  // namespace

LinePainter::LinePainter(std::unique_ptr<State> state) : state_(std::move(state)) {}
LinePainter::LinePainter(LinePainter&&) noexcept = default;
LinePainter::~LinePainter() = default;

Result<LinePainter> LinePainter::create(const Alphabet& alphabet, const DrawOptions& options) {
  auto state = std::make_unique<State>();
  state->alphabet = alphabet;
  state->options = options;
  if (FT_Init_FreeType(&state->library) != 0) {
    return Error{ErrorKind::failed, "FreeType does not start"};
  }
  std::string lacking;
  for (const std::string& font : options.fonts) state->use_font(font, lacking);
  if (state->faces.empty() && lacking.empty()) {
    return Error{ErrorKind::missing,
                 "no usable font found: install one (apt-get install fonts-dejavu-core) or give "
                 "--font FILE"};
  }
  if (state->faces.empty()) {
    return Error{ErrorKind::unsupported,
                 "no font has all characters, '" + lacking +
                     "' for one is lacking: give --font FILE, or install one that has them "
                     "(apt-get install fonts-noto-cjk has Chinese, Japanese and Korean)"};
  }
  return LinePainter(std::move(state));
}

Result<DrawnLine> LinePainter::draw(std::int64_t index) {
  Random random = Random(state_->options.seed).fork(static_cast<std::uint64_t>(index));
  const Look look = choose_look(random, state_->options, state_->faces.size());
  DrawnLine line;
  line.text = choose_text(random, state_->alphabet, state_->options);
  const auto glyphs = state_->render(state_->faces[look.font], line.text, look);
  if (!glyphs)
    return Error{glyphs.error().kind, state_->fonts[look.font] + ": " + glyphs.error().what};
  int width = 0, height = 0;
  std::vector<float> ink = lay_out(random, look, *glyphs, width, height);
  if (look.blur > 0) blur(ink, width, height, look.blur);
  line.image = paint(random, look, ink, width, height);
  return line;
}

const std::vector<std::string>& LinePainter::fonts() const { return state_->fonts; }

std::string freetype_version() {
  FT_Library library = nullptr;
  if (FT_Init_FreeType(&library) != 0) return "unknown";
  FT_Int major = 0, minor = 0, patch = 0;
  FT_Library_Version(library, &major, &minor, &patch);
  FT_Done_FreeType(library);
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

}  // namespace ocrtune
